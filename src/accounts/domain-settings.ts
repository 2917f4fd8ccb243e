import { z } from 'zod'

const TEN_YEARS_SECONDS = 10 * 366 * 86_400

const seconds = z.int().min(0).max(TEN_YEARS_SECONDS)

/**
 * What the owner decides for some of the domain's paths. `path` is compared
 * with the stored path; `*` stands for any characters, also none. The first
 * rule that matches counts.
 */
const ruleSchema = z.strictObject({
  path: z.string().startsWith('/', 'must start with /').max(2_048),
  /** `pass`: always the origin. `render`: finished pages, also where the path looks like an asset. */
  action: z.enum(['pass', 'render']),
  fresh_seconds: seconds.optional(),
})

const querySchema = z.union(
  [z.literal('keep'), z.literal('ignore'), z.array(z.string().min(1).max(200)).max(100)],
  'must be "keep", "ignore" or a list of at most 100 names',
)

const fields = {
  /** How long after its render a page is served without a second thought. */
  fresh_seconds: seconds,
  /** How long after that it is served while a refresh is queued. */
  stale_seconds: seconds,
  /** Age up to which it is kept for when the origin or the renderer fails. */
  keep_seconds: seconds,
  /** Query parameters that name a page: all (`keep`), none (`ignore`), or those listed. */
  query: querySchema,
  rules: z.array(ruleSchema).max(100),
}

/** A domain's whole settings, as they are shown. */
export const domainSettingsSchema = z.strictObject(fields)

/** What an update may carry: each field or none. Merge it over the stored settings. */
export const domainSettingsPatchSchema = z.strictObject(fields).partial()

export type DomainSettings = z.infer<typeof domainSettingsSchema>
export type PathRule = z.infer<typeof ruleSchema>

export const DEFAULT_DOMAIN_SETTINGS: DomainSettings = Object.freeze({
  fresh_seconds: 86_400,
  stale_seconds: 7 * 86_400,
  keep_seconds: 30 * 86_400,
  query: 'keep',
  rules: [],
})

/**
 * The settings of a row of `domain`: what is stored, the defaults for the rest.
 * A stored field that this version cannot read counts as absent, so that a
 * node of an older version goes on serving beside a newer one.
 */
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
