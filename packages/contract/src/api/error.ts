import { z } from 'zod'
import { RIGHTS, ROLES } from '../roles.ts'
import { CONFIRM_WAYS, roleSchema } from './account.ts'
import { apiSchema } from './api-schema.ts'

export const errorSchema = apiSchema(
  'Error',
  z.object({
    error: z.string().describe('What is wrong, for people; these texts do not change'),
    role: roleSchema.optional().describe('With a missing right: your role'),
    needs: z
      .enum([...ROLES, ...RIGHTS])
      .optional()
      .describe('With a missing right: the lowest role that has it, or the right that the key lacks'),
    confirm: z
      .array(z.enum(CONFIRM_WAYS))
      .optional()
      .describe('With `Confirm that it is you`: how you can, with `POST /api/session/confirm`'),
    set_up: z.string().optional().describe('With a second factor that is required: where to set it up'),
    current: z.int().optional().describe('With the site limit: number of domains'),
    problems: z
      .array(
        z.object({
          path: z
            .array(z.union([z.string(), z.int()]))
            .describe(
              'Names and indexes from the outside in, such as `["settings", "rules", 3, "path"]`; empty: the whole body',
            ),
          message: z.string().describe('What is wrong with this field, for people'),
        }),
      )
      .optional()
      .describe('The fields of the request that are refused, at most 100; `error` is about the first one'),
    lines: z
      .array(z.object({ line: z.int(), error: z.string() }))
      .optional()
      .describe('With a list of redirects: the first 100 entries that are refused'),
    allowed: z.int().optional().describe('With the site limit: domains that the plan allows'),
  }),
)
