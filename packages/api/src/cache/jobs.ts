import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import { findJob } from '@prepaint/contract/outcome/job.ts'
import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export const queuedJobSchema = apiSchema(
  'QueuedJob',
  z.object({
    path: z.string().describe('Path being refreshed, as it is stored'),
    jobId: z.string().describe('Identifier of the queued render job'),
  }),
)

export const queuedDomainJobSchema = apiSchema(
  'QueuedDomainJob',
  z.object({ domain: z.string(), ...queuedJobSchema.shape }),
)

const jobSchema = apiSchema(
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

export function renderJobs(app: ApiApp, deps: ApiDeps): void {
  const { pool } = deps
  const add = accountRoutes(app, 'Jobs')

  add('GET', '/api/jobs/:jobId', 'getJob', {
    summary: 'State of a render job; kept for a week',
    params: z.object({ jobId: z.string().describe('The `jobId` of a refresh response') }),
    refuses: ['job_not_found'],
    response: { 200: jsonResponse('The job', jobSchema) },
    handler: async (account, request) => {
      const id = parseJobId(request.params.jobId)
      const job = id === null ? null : await findJob(pool, account, id)
      if (job === null) throw new AppError('job_not_found')
      return job
    },
  })
}
