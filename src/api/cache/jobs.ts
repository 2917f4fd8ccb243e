import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { parseJobId } from '../../ids.ts'
import { findJob } from '../../queue/jobs/job.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

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

  app.route({
    method: 'GET',
    url: '/api/jobs/:jobId',
    config: { access: 'key', refuses: ['job_not_found'] },
    schema: {
      operationId: 'getJob',
      tags: ['Jobs'],
      summary: 'State of a render job; kept for a week',
      params: z.object({ jobId: z.string().describe('The `jobId` of a refresh response') }),
      response: { 200: jsonResponse('The job', jobSchema) },
    },
    handler: async (request) => {
      const id = parseJobId(request.params.jobId)
      const job = id === null ? null : await findJob(pool, callerOf(request).account, id)
      if (job === null) throw new AppError('job_not_found')
      return job
    },
  })
}
