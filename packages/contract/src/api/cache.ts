import { z } from 'zod'
import { apiSchema } from './api-schema.ts'
import { pathsSchema, queuedJobSchema } from './pages.ts'

const queuedDomainJobSchema = apiSchema(
  'QueuedDomainJob',
  z.object({ domain: z.string(), ...queuedJobSchema.shape }),
)

export const jobSchema = apiSchema(
  'Job',
  z.object({
    jobId: z.string(),
    domain: z.string(),
    path: z.string(),
    priority: z.enum(['live', 'refresh', 'warm']),
    state: z.enum(['queued', 'running', 'done', 'failed', 'cancelled']),
    outcome: z.string().nullable().describe('How the render ended; null: it has not ended'),
    created_at: z.iso.datetime({ precision: 3 }),
    finished_at: z.iso.datetime({ precision: 3 }).nullable(),
  }),
)

export const getJobParams = z.object({ jobId: z.string().describe('The `jobId` of a refresh response') })

export const DEFAULT_PATHS = ['/', '/about', '/contact', '/shop']

export const purgedSchema = apiSchema(
  'Purged',
  z.object({
    message: z.string(),
    keysDeleted: z.int().describe('Pages, redirects and sitemaps that were deleted'),
  }),
)

const domainField = z.string().describe('Name of a domain that you own')

export const listCachedPagesAnswer = z.object({
  domain: z.string(),
  cachedPages: z.int().describe('Number of entries of `pages`'),
  pages: z
    .array(
      z.object({
        path: z.string().describe('Path beginning with `/`, with its normalised query'),
        cacheKey: z.string().describe('`render:<domain>:<path>`'),
      }),
    )
    .describe('By path'),
})

export const cacheStatsAnswer = z.object({
  totalKeys: z.int().describe('What a purge of all domains would delete now'),
  domainCount: z.int(),
})

export const purgeBody = z.object({
  domain: domainField,
  path: z
    .string()
    .startsWith('/', 'must start with /')
    .optional()
    .describe(
      'The page to purge. With a `*` at its end: all pages whose path begins with the text before it. Absent: all pages',
    ),
})

export const refreshBody = z.object({ domain: domainField, paths: pathsSchema.optional() })

export const refreshAnswer = z.object({
  message: z.string(),
  domain: z.string(),
  jobs: z.array(queuedJobSchema),
})

export const refreshAllBody = z.object({ paths: pathsSchema.optional() })

export const refreshAllAnswer = z.object({
  message: z.string(),
  totalDomains: z.int(),
  totalJobs: z.int(),
  jobs: z.array(queuedDomainJobSchema),
})

export const WEBHOOK_URL_LIMIT = 20

export const webhookRefreshBody = z.union([
  z.object({
    urls: z.array(z.string()).min(1).max(WEBHOOK_URL_LIMIT).describe('Paths beginning with `/`'),
  }),
  z.object({ all: z.literal(true).describe('Render all known paths again') }),
])

export const webhookRefreshAnswer = z.object({
  message: z.string(),
  domain: z.string(),
  pagesQueued: z.int().optional().describe('For `urls` only'),
  ignored: z
    .array(z.string())
    .optional()
    .describe('Entries of `urls` that are not paths; absent if there are none'),
})
