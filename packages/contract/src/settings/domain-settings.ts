import { z } from 'zod'
import { givenRules, RULE_CATEGORIES, seconds, storedRules, visitorFields } from '../rules/schema.ts'
import { beginsGroup, ROBOTS_TEXT_LIMIT_BYTES } from '../site-files/robots-text.ts'

/** `ai`: without a known purpose. */
export const CRAWLER_CATEGORIES = RULE_CATEGORIES
export type CrawlerCategory = (typeof CRAWLER_CATEGORIES)[number]

const AI_PURPOSES = ['training', 'search', 'user'] as const

/** Returns the purpose of an AI crawler, or null if there is none or it is unknown. */
export function purposeOf(category: string): (typeof AI_PURPOSES)[number] | null {
  return AI_PURPOSES.find((purpose) => category === `ai-${purpose}`) ?? null
}

/** Returns the category without the purpose. */
export function broadCategory(category: string): string {
  return purposeOf(category) === null ? category : 'ai'
}

/** Part of a user agent in any case; `*` matches any characters, also none. Not a regular expression. */
const agentPattern = z
  .string()
  .max(100)
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
  .refine((pattern) => pattern.replaceAll('*', '').trim().length >= 3, 'must have 3 characters other than *')

/** Each of the two lists of a domain may have this many patterns. */
export const MAX_PATTERNS = 100

/** Replaced as a whole. */
const crawlersSchema = z.strictObject({
  add: z
    .array(z.strictObject({ pattern: agentPattern, category: z.enum(CRAWLER_CATEGORIES) }))
    .max(MAX_PATTERNS)
    .optional(),
  remove: z.array(agentPattern).max(MAX_PATTERNS).optional(),
})

const treatment = z.enum(['render', 'pass', 'block', 'payment']).optional()
export type Treatment = NonNullable<z.infer<typeof treatment>>

/**
 * `pass`: this kind of crawler gets the origin; `block`: 403; `payment`: 402 with `terms_url`. A purpose's own entry
 * wins over `ai`. Replaced as a whole.
 */
const categoriesSchema = z.strictObject(
  Object.fromEntries(CRAWLER_CATEGORIES.map((category) => [category, treatment])) as Record<
    CrawlerCategory,
    typeof treatment
  >,
)

/** The text is kept among the versions, and read only where it is shown or served. Replaced as a whole. */
export const robotsSettingsSchema = z
  .strictObject({
    mode: z.enum(['origin', 'append', 'replace']),
    text: z
      .string()
      .refine(
        (text) => new TextEncoder().encode(text).length <= ROBOTS_TEXT_LIMIT_BYTES,
        `must have at most ${ROBOTS_TEXT_LIMIT_BYTES} bytes`,
      )
      .refine(
        (text) => !text.includes('\0') && text.isWellFormed(),
        'must not contain NUL or broken characters',
      )
      .optional(),
  })
  .refine(({ mode, text = '' }) => mode !== 'append' || beginsGroup(text), {
    path: ['text'],
    message: 'must begin with a User-agent or Sitemap line',
  })

const preference = z.enum(['allow', 'deny']).optional()

/** What crawlers are told they may use pages for. Replaced as a whole. */
const preferencesSchema = z.strictObject({ search: preference, ai_input: preference, ai_train: preference })
export type Preferences = z.infer<typeof preferencesSchema>

/** Printable ASCII without characters that would end it in a `Link` header. */
const termsUrl = z
  .string()
  .max(2_000)
  .regex(/^https?:\/\/(?![^/?#]*@)[\x21\x23-\x3b\x3d\x3f-\x7e]+$/i, 'must be an http or https URL')
  .refine((url) => URL.canParse(url), 'must be an http or https URL')
  .nullable()

const querySchema = z.union(
  [z.literal('keep'), z.literal('ignore'), z.array(z.string().min(1).max(200)).max(100)],
  'must be "keep", "ignore" or a list of at most 100 names',
)

/** Absent fields have the default. Replaced as a whole. */
const renderSchema = z.strictObject(visitorFields)

const MAX_ORIGIN_HEADERS = 10

/** Owners may not set these: they are about the connection, what is sent, or the client, or are our own. */
const NOT_OWNERS =
  /^(?:connection|keep-alive|te|trailers?|transfer-encoding|upgrade|http2-settings|host|cookie|via|forwarded|x-real-ip|x-request-id|x-prerender|expect|range|accept-encoding|max-forwards|(?:content|proxy|if|sec|x-forwarded|x-prepaint|access-control)(?:-.*)?)$/i

// RFC 9110, section 5.1.
const originHeaderName = z
  .string()
  .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/, 'is not a header name')
  .refine((given) => !NOT_OWNERS.test(given), 'must not be set by an owner')

/** With `all`, requests that are passed to the origin carry the header too. */
const audience = z.enum(['renders', 'all'])

/** The headers as they are shown: without their values. */
const shownOriginHeaders = z.array(
  z.strictObject({ name: z.string(), value: z.null(), set: z.literal(true), for: audience }),
)

/** The headers as a client sends them. A `value` of null leaves the value as it was. */
const givenOriginHeaders = z
  .array(
    z.strictObject({
      name: originHeaderName,
      value: z
        .string()
        .max(4_000)
        .regex(/^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/, 'must be printable ASCII without line breaks')
        .nullable(),
      set: z.boolean().optional(),
      for: audience,
    }),
  )
  .max(MAX_ORIGIN_HEADERS)
  .superRefine((headers, context) => {
    const names = headers.map((header) => header.name.toLowerCase())
    names.forEach((each, at) => {
      if (names.indexOf(each) === at) return
      context.addIssue({ code: 'custom', path: [at, 'name'], message: 'is there twice' })
    })
  })

export type GivenOriginHeaders = z.infer<typeof givenOriginHeaders>

/** A refused page passes at most this long without a render, a day. */
export const MAX_RETRY_SECONDS = 86_400

const fields = {
  fresh_seconds: seconds,
  /** How long after that it is served while a refresh is queued. */
  stale_seconds: seconds,
  /** Maximum age at which it is served if the origin or the renderer fails. */
  keep_seconds: seconds,
  /** How long a crawler waits in all, for a render and then for the head of the origin's response. */
  crawler_wait_seconds: z.int().min(1).max(300),
  query: querySchema,
  rules: storedRules,
  crawlers: crawlersSchema,
  categories: categoriesSchema,
  origin_cache_control: z.enum(['ignore', 'respect']),
  soft_404: z.enum(['refuse', 'store', 'answer']),
  /** How long a page passes after its render was refused; twice as long each time. With 0 it is rendered at each visit. */
  retry_seconds: z.int().min(0).max(MAX_RETRY_SECONDS),
  https_redirect: z.boolean(),
  refresh_on_deploy: z.boolean(),
  /** Share of the quota; a thirtieth of it each day. */
  refresh_ahead_percent: z.int().min(0).max(100),
  render: renderSchema,
  robots: robotsSettingsSchema,
  sitemap: z.enum(['origin', 'generate']),
  /** `auto`: phones have pages of their own where a comparison found that they differ. */
  devices: z.enum(['one', 'both', 'auto']),
  indexnow: z.boolean(),
  preferences: preferencesSchema,
  /** Where the terms for paying crawlers stand. */
  terms_url: termsUrl,
  /** Served to clients that prefer `text/markdown`. */
  markdown: z.enum(['on', 'off']),
  /** Small pages for crawlers of category `social`. */
  cards: z.enum(['on', 'off']),
  /** How crawlers come: the domain's name leads here, or the site's own front asks for pages. */
  way: z.enum(['dns', 'middleware']),
  origin_headers: shownOriginHeaders,
}

export const domainSettingsSchema = z.strictObject(fields)

/** Merge it over the stored settings. */
export const domainSettingsPatchSchema = z
  .strictObject({ ...fields, rules: givenRules, origin_headers: givenOriginHeaders })
  .partial()

export type DomainSettings = z.infer<typeof domainSettingsSchema>

export const DEFAULT_DOMAIN_SETTINGS: DomainSettings = Object.freeze<DomainSettings>({
  fresh_seconds: 86_400,
  stale_seconds: 7 * 86_400,
  keep_seconds: 30 * 86_400,
  // Crawlers of search engines wait 30 seconds or longer.
  crawler_wait_seconds: 25,
  query: 'keep',
  rules: [],
  crawlers: {},
  categories: {},
  origin_cache_control: 'ignore',
  // Domains of 0.2.0 and before have it stored as `refuse`.
  soft_404: 'answer',
  retry_seconds: 600,
  https_redirect: false,
  refresh_on_deploy: true,
  refresh_ahead_percent: 10,
  render: {},
  robots: { mode: 'origin' },
  sitemap: 'origin',
  devices: 'one',
  indexnow: false,
  preferences: {},
  terms_url: null,
  markdown: 'on',
  cards: 'off',
  way: 'dns',
  origin_headers: [],
})

/** Reads stored settings. Absent and unreadable fields have the default: an older version can run beside a newer one. */
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

/**
 * Returns how the owner treats the category. A purpose's own entry wins over `ai`, which also covers AI crawlers of
 * unknown purpose.
 */
export function treatmentOf(categories: DomainSettings['categories'], category: CrawlerCategory): Treatment {
  return categories[category] ?? (purposeOf(category) === null ? undefined : categories.ai) ?? 'render'
}
