import type pg from 'pg'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { parseJobId } from '../../ids.ts'
import { findJob } from '../../queue/jobs/job.ts'
import { callerOf } from '../http/access.ts'
import { answer, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, apiSchema } from '../http/app.ts'

export function jobGet(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/jobs/:jobId',
    config: { access: 'key' },
    schema: {
      operationId: 'getJob',
      tags: ['Jobs'],
      summary: 'What became of a job; jobs can be looked up for a week',
      security: [{ ApiKey: [] }],
      params: z.object({ jobId: z.string().describe('As a refresh gave it') }),
      response: { 200: answer('The job', jobSchema), ...refusals(...KEY_REFUSALS, 'job_not_found') },
    },
    handler: async (request) => {
      const id = parseJobId(request.params.jobId)
      const job = id === null ? null : await findJob(deps.pool, callerOf(request).account, id)
      if (job === null) throw new AppError('job_not_found')
      return job
    },
  })
}

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
    outcome: z.string().nullable().describe('How the render ended; null while it has not'),
    created_at: z.iso.datetime({ precision: 3 }),
    finished_at: z.iso.datetime({ precision: 3 }).nullable(),
  }),
)
