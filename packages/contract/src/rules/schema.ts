import { z } from 'zod'
import { parseGlob } from '../glob.ts'
import { isHeaderName, ruleMaySet } from '../headers.ts'
import type { Problem } from '../problem.ts'

const TEN_YEARS_SECONDS = 10 * 366 * 86_400

export const seconds = z.int().min(0).max(TEN_YEARS_SECONDS)

export const MAX_RULES = 200

/** `ai` includes the purposes of AI crawlers. */
export const RULE_CATEGORIES = [
  'search',
  'ai',
  'social',
  'seo',
  'other',
  'ai-training',
  'ai-search',
  'ai-user',
] as const

const RULE_ACTIONS = ['pass', 'render', 'not-found', 'gone', 'no-store'] as const

/** Lists of hosts, made by tools/block-lists.ts. */
export const BLOCK_LISTS = ['ads', 'analytics', 'chat', 'fonts', 'media', 'consent'] as const

/** Refuses locales and zones that this machine's ICU does not know, instead of replacing them. */
const knownTo = (make: (name: string) => unknown) => (name: string) => {
  try {
    make(name)
    return true
  } catch {
    return false
  }
}

/** The limits of a viewport, in CSS pixels. */
export const VIEWPORT_SIDE = { min: 200, max: 4_000 }

const viewportSide = z.int().min(VIEWPORT_SIDE.min).max(VIEWPORT_SIDE.max)

/** The visitor that the browser plays. Absent fields have the default. */
export const visitorFields = {
  user_agent: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
    .optional(),
  viewport: z.strictObject({ width: viewportSide, height: viewportSide }).optional(),
  locale: z
    .string()
    .max(35)
    .regex(/^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/, 'must be a BCP 47 language tag such as "de-CH"')
    .refine(
      knownTo((name) => Intl.getCanonicalLocales(name)),
      'must be a BCP 47 language tag such as "de-CH"',
    )
    .optional(),
  time_zone: z
    .string()
    .max(50)
    .regex(/^[A-Za-z]/, 'must be an IANA time zone such as "Europe/Zurich"')
    .refine(
      knownTo((name) => new Intl.DateTimeFormat('en', { timeZone: name })),
      'must be an IANA time zone such as "Europe/Zurich"',
    )
    .optional(),
}

/** Texts of a page: PostgreSQL stores neither NUL nor half surrogate pairs. */
const text = (most: number) =>
  z
    .string()
    .max(most)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'must be text without NUL')

const whenSchema = z.strictObject({
  categories: z.array(z.enum(RULE_CATEGORIES)).min(1).max(RULE_CATEGORIES.length).optional(),
  /** The variant of the render. Without it the rule is for both. */
  variant: z.enum(['desktop', 'mobile']).optional(),
  /** The query of the stored path. `*` takes every value. */
  query: z
    .record(z.string().min(1).max(200), z.string().max(500))
    .refine((query) => Object.keys(query).length <= 10, 'must have at most 10 entries')
    .optional(),
})

const HOST_PATTERN = /^(?=.{1,253}$)[a-z0-9*_](?:[a-z0-9*._-]*[a-z0-9*_])?$/

const block = z
  .string()
  .regex(
    HOST_PATTERN,
    `must be ${BLOCK_LISTS.map((name) => JSON.stringify(name)).join(', ')} or a host such as *.example.com in lower case`,
  )

const absoluteUrl = z
  .string()
  .max(2_048)
  .refine(
    (url) => url === 'self' || (/^https?:\/\/[^/?#@\s]+([/?#]\S*)?$/i.test(url) && URL.canParse(url)),
    'must be "self" or an absolute http or https URL',
  )

const metaSchema = z
  .strictObject({
    name: text(200).min(1).optional(),
    property: text(200).min(1).optional(),
    content: text(5_000),
  })
  .refine(
    ({ name, property }) => (name === undefined) !== (property === undefined),
    'must have either name or property',
  )
  .refine(
    ({ name = '' }) => !/^(?:prerender-|render:)/i.test(name),
    'must not name a meta element that only Prepaint reads',
  )

const headSchema = z.strictObject({
  title: text(1_000).optional(),
  robots: text(500).optional(),
  canonical: absoluteUrl.optional(),
  meta: z.array(metaSchema).max(50).optional(),
})

/** Stored rules may name headers that an earlier version allowed: renders leave those out. */
const answerHeaders = z.record(z.string(), z.string().max(2_048)).superRefine((headers, context) => {
  const refuse = (name: string, message: string) =>
    context.addIssue({ code: 'custom', path: [name], message })
  if (Object.keys(headers).length > 20) {
    context.addIssue({ code: 'custom', path: [], message: 'must have at most 20 entries' })
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderName(name)) refuse(name, 'is not a header name')
    else if (!/^[\x20-\x7e]*$/.test(value)) refuse(name, 'must be printable ASCII without line breaks')
  }
})

/** Limits the `*` of a pattern: each costs a search in each new URL. */
const MAX_WILDCARDS = 20

const SELECTOR_LIMIT_CHARS = 500

/** The server also parses it. */
const selector = z.string().min(1).max(SELECTOR_LIMIT_CHARS)

const ruleSchema = z
  .strictObject({
    /** `*` matches any characters, also none. The first matching rule decides alone. */
    path: z
      .string()
      .startsWith('/', 'must start with /')
      .max(2_048)
      .refine((path) => parseGlob(path).length <= MAX_WILDCARDS + 1, `must have at most ${MAX_WILDCARDS} *`),
    when: whenSchema.optional(),
    /**
     * `pass`: always the origin. `render`: also paths that look like assets. `not-found`, `gone`: 404, 410.
     * `no-store`: rendered for each crawler and not kept.
     */
    action: z.enum(RULE_ACTIONS).optional(),
    fresh_seconds: seconds.optional(),
    stale_seconds: seconds.optional(),
    keep_seconds: seconds.optional(),
    render: z
      .strictObject({
        /** The capture waits until an element matches. */
        wait_for: selector.optional(),
        /** The capture waits this long by the page's clock, after it is otherwise ready. */
        wait_ms: z.int().min(0).max(30_000).optional(),
        block: z.array(block).max(50).optional(),
        ...visitorFields,
      })
      .optional(),
    change: z
      .strictObject({
        remove: z.array(selector).max(50).optional(),
        /** Known consent banners are removed, and their scroll locks undone. */
        consent: z.boolean().optional(),
        head: headSchema.optional(),
        headers: answerHeaders.optional(),
      })
      .optional(),
  })
  .refine(
    ({ path: _path, when: _when, ...does }) => Object.values(does).some((value) => value !== undefined),
    'must have an action, a lifetime, render or change',
  )

/** The rules as they are stored. A hostile list costs a node little to read. */
export const storedRules = z.array(ruleSchema).max(MAX_RULES)

/** Limits the rules as JSON. Each claim of a job and each node reads them, and the server parses their selectors. */
export const RULES_LIMIT_CHARS = 131_072

/** The rules as a client sends them. The server also checks their selectors. */
export const givenRules = storedRules.superRefine((rules, context) => {
  if (JSON.stringify(rules).length > RULES_LIMIT_CHARS) {
    const message = `must have at most ${RULES_LIMIT_CHARS} characters as JSON`
    // No further check reads them.
    context.addIssue({ code: 'custom', path: [], message, continue: false })
    return
  }
  for (const [at, { change }] of rules.entries()) {
    for (const name of Object.keys(change?.headers ?? {})) {
      if (ruleMaySet(name)) continue
      const path = [at, 'change', 'headers', name]
      context.addIssue({ code: 'custom', path, message: 'must not be set by a rule' })
    }
  }
})

export type Rule = z.infer<typeof storedRules>[number]
export type RuleRender = NonNullable<Rule['render']>
export type RuleChange = NonNullable<Rule['change']>

/**
 * Finds a rule that blocks the domain itself, which would leave no page. The path of the problem begins with `rules`.
 * Returns null if there is no such rule.
 */
export function ownBlockProblem(rules: readonly Rule[], domain: string): Problem | null {
  for (const [at, { render }] of rules.entries()) {
    const place = render?.block?.indexOf(domain) ?? -1
    if (place === -1) continue
    return { path: ['rules', at, 'render', 'block', place], message: 'must not be the domain itself' }
  }
  return null
}
