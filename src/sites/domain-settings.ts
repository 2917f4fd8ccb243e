import { z } from 'zod'
import { matchesWhole, parseGlob } from '../edge/crawlers/crawler-test.ts'

const TEN_YEARS_SECONDS = 10 * 366 * 86_400

const seconds = z.int().min(0).max(TEN_YEARS_SECONDS)

export const CRAWLER_CATEGORIES = ['search', 'ai', 'social', 'seo', 'other'] as const
export type CrawlerCategory = (typeof CRAWLER_CATEGORIES)[number]

/** `*` in `path` matches any characters, also none. The first matching rule decides alone. */
const ruleSchema = z
  .strictObject({
    path: z.string().startsWith('/', 'must start with /').max(2_048),
    /** `pass`: always the origin. `render`: also paths that look like assets. */
    action: z.enum(['pass', 'render']).optional(),
    fresh_seconds: seconds.optional(),
  })
  .refine(
    ({ action, fresh_seconds }) => action !== undefined || fresh_seconds !== undefined,
    'must have an action or fresh_seconds',
  )

/** Part of a user agent in any case; `*` matches any characters, also none. Not a regular expression. */
const agentPattern = z
  .string()
  .max(100)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
  .refine((pattern) => pattern.replaceAll('*', '').trim().length >= 3, 'must have 3 characters other than *')

/** Replaced as a whole. */
const crawlersSchema = z.strictObject({
  add: z
    .array(z.strictObject({ pattern: agentPattern, category: z.enum(CRAWLER_CATEGORIES) }))
    .max(100)
    .optional(),
  remove: z.array(agentPattern).max(100).optional(),
})

const treatment = z.enum(['render', 'pass']).optional()

/** `pass`: this kind of crawler gets the origin. Replaced as a whole. */
const categoriesSchema = z.strictObject(
  Object.fromEntries(CRAWLER_CATEGORIES.map((category) => [category, treatment])) as Record<
    CrawlerCategory,
    typeof treatment
  >,
)

const querySchema = z.union(
  [z.literal('keep'), z.literal('ignore'), z.array(z.string().min(1).max(200)).max(100)],
  'must be "keep", "ignore" or a list of at most 100 names',
)

/** Refuses locales and zones that this machine's ICU does not know, instead of replacing them. */
const knownTo = (make: (name: string) => unknown) => (name: string) => {
  try {
    make(name)
    return true
  } catch {
    return false
  }
}

/** Absent fields have the default. Replaced as a whole. */
const renderSchema = z.strictObject({
  user_agent: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
    .optional(),
  viewport: z
    .strictObject({ width: z.int().min(200).max(4_000), height: z.int().min(200).max(4_000) })
    .optional(),
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
})

const fields = {
  fresh_seconds: seconds,
  /** How long after that it is served while a refresh is queued. */
  stale_seconds: seconds,
  /** Maximum age at which it is served if the origin or the renderer fails. */
  keep_seconds: seconds,
  query: querySchema,
  rules: z.array(ruleSchema).max(100),
  crawlers: crawlersSchema,
  categories: categoriesSchema,
  origin_cache_control: z.enum(['ignore', 'respect']),
  soft_404: z.enum(['refuse', 'store']),
  https_redirect: z.boolean(),
  refresh_on_deploy: z.boolean(),
  /** Share of the quota; a thirtieth of it each day. */
  refresh_ahead_percent: z.int().min(0).max(100),
  render: renderSchema,
}

export const domainSettingsSchema = z.strictObject(fields)

/** Merge it over the stored settings. */
export const domainSettingsPatchSchema = z.strictObject(fields).partial()

export type DomainSettings = z.infer<typeof domainSettingsSchema>
export type PathRule = z.infer<typeof ruleSchema>

export const DEFAULT_DOMAIN_SETTINGS: DomainSettings = Object.freeze({
  fresh_seconds: 86_400,
  stale_seconds: 7 * 86_400,
  keep_seconds: 30 * 86_400,
  query: 'keep',
  rules: [],
  crawlers: {},
  categories: {},
  origin_cache_control: 'ignore',
  soft_404: 'refuse',
  https_redirect: false,
  refresh_on_deploy: true,
  refresh_ahead_percent: 10,
  render: {},
})

/** Absent and unreadable fields have the default: an older version can run beside a newer one. */
export function readDomainSettings(stored: unknown): DomainSettings {
  const merged: Record<string, unknown> = { ...DEFAULT_DOMAIN_SETTINGS }
  if (typeof stored === 'object' && stored !== null) {
    for (const [name, schema] of Object.entries(fields)) {
      const parsed = schema.safeParse((stored as Record<string, unknown>)[name])
      if (parsed.success) merged[name] = parsed.data
    }
  }
  return merged as DomainSettings
}

export function ruleFor(rules: readonly PathRule[], path: string): PathRule | null {
  return rules.find((rule) => matchesWhole(parseGlob(rule.path), path)) ?? null
}
