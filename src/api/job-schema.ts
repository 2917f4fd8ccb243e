import { z } from 'zod'

import { apiSchema } from './api-schema.ts'

export const queuedJobSchema = apiSchema(
  'QueuedJob',
  z.object({
    path: z.string().describe('Path being refreshed, as it is stored'),
    jobId: z.string().describe('Identifier of the queued render job'),
  }),
)

export const queuedDomainJobSchema = apiSchema(
  'QueuedDomainJob',
  z.object({
    domain: z.string(),
    path: z.string().describe('Path being refreshed, as it is stored'),
    jobId: z.string().describe('Identifier of the queued render job'),
  }),
)

export const jobSchema = apiSchema(
  'Job',
  z.object({
    jobId: z.string(),
    domain: z.string(),
    path: z.string(),
    priority: z.enum(['live', 'refresh', 'warm']),
    state: z.enum(['queued', 'running', 'done', 'failed', 'cancelled']),
    outcome: z.string().nullable().describe('How the render ended; null while it has not'),
    created_at: z.iso.datetime({ precision: 3 }),
    finished_at: z.iso.datetime({ precision: 3 }).nullable(),
  }),
)
