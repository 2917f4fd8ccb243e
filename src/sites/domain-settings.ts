import { z } from 'zod'
import { checkedRules, seconds, storedRules, visitorFields } from '../rules/schema.ts'

export const CRAWLER_CATEGORIES = ['search', 'ai', 'social', 'seo', 'other'] as const
export type CrawlerCategory = (typeof CRAWLER_CATEGORIES)[number]

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

/** Absent fields have the default. Replaced as a whole. */
const renderSchema = z.strictObject(visitorFields)

const fields = {
  fresh_seconds: seconds,
  /** How long after that it is served while a refresh is queued. */
  stale_seconds: seconds,
  /** Maximum age at which it is served if the origin or the renderer fails. */
  keep_seconds: seconds,
  query: querySchema,
  rules: storedRules,
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
export const domainSettingsPatchSchema = z.strictObject({ ...fields, rules: checkedRules }).partial()

export type DomainSettings = z.infer<typeof domainSettingsSchema>

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
