import { z } from 'zod'
import { PAGE_VARIANTS } from '../page/page-id.ts'
import { givenRules } from '../rules/schema.ts'

export const TRIED_AT_ONCE = 20

export const TRY_SIDES = ['before', 'after'] as const

export const DIFFERENCES = ['outcome', 'status', 'head', 'text', 'headers', 'html_bytes', 'requests'] as const

export const tryRulesBody = z.object({
  rules: givenRules.describe('As in `settings.rules`, whole'),
  paths: z
    .array(z.string().startsWith('/', 'must start with /'))
    .min(1)
    .max(TRIED_AT_ONCE)
    .optional()
    .describe('Default: those that crawlers asked for most in the last week'),
})

const ruleIndex = z.int().nullable().describe('The rule that applies, counting from 0; null: none')

export const ruleTrySchema = z.object({
  state: z.enum(['queued', 'running', 'done']),
  pages: z.array(
    z.object({
      path: z.string().describe('As it is stored'),
      category: z
        .string()
        .describe('Of the crawler as which it is tried: one whose rule changes, else `search`'),
      variant: z
        .enum(PAGE_VARIANTS)
        .describe('The device as which it is tried: one whose rule changes, else `desktop`'),
      rule_before: ruleIndex,
      rule_after: ruleIndex,
      outcome: z
        .string()
        .nullable()
        .describe(
          'Under the new rules: an outcome of renders (`no-store`: given, not kept), or `pass`, `not-found`, `gone`; null: not there yet',
        ),
      ms: z.int().nullable().describe('Of the render under the new rules; null: none'),
      pictures: z
        .array(z.enum(TRY_SIDES))
        .describe('Those that can be read; of the last try of a domain only'),
      differences: z
        .array(
          z.object({
            of: z.enum(DIFFERENCES),
            before: z.string().describe('At most 20,000 characters, a line for each thing'),
            after: z.string(),
          }),
        )
        .describe('Empty: crawlers get the same'),
    }),
  ),
})

export const tryRulesAnswer = z.object({ id: z.string() })

export const getRuleTryParams = z.object({ tryId: z.string() })

export const getRuleTryPictureParams = z.object({
  tryId: z.string(),
  place: z.coerce.number().int().min(0).max(TRIED_AT_ONCE).describe('In `pages`, counting from 0'),
  side: z.enum(TRY_SIDES),
})
