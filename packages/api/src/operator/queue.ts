import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import { PAGE_VARIANTS } from '@prepaint/contract/page/page-id.ts'
import { cancelJob } from '@prepaint/pages/queue/jobs/cancel.ts'
import { readFleetFailures, readFleetQueue } from '@prepaint/pages/queue/jobs/fleet.ts'
import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

const priority = z.enum(['live', 'refresh', 'warm'])

export const fleetQueueSchema = apiSchema(
  'FleetQueue',
  z.object({
    priorities: z.array(
      z.object({
        priority,
        queued: z.int().describe('At most 100,000 are counted'),
        oldest_seconds: z.number().describe('Wait of the first job'),
      }),
    ),
    running: z
      .array(
        z.object({
          jobId: z.string(),
          domain: z.string(),
          path: z.string().describe('Without its query'),
          variant: z.enum(PAGE_VARIANTS).nullable().describe('null: a job of both variants'),
          priority,
          node: z.string().describe('As in the list of nodes'),
          running_seconds: z.number(),
          attempts: z.int(),
        }),
      )
      .describe('At most 200, longest running first'),
    waiting: z
      .array(z.object({ domain: z.string(), priority, queued: z.int(), waiting_seconds: z.number() }))
      .describe('The 20 domains with the longest wait'),
  }),
)

export const fleetFailuresSchema = apiSchema(
  'FleetFailures',
  z.object({
    since: z.string().nullable().describe('Time of the oldest render in the sample; null: there were none'),
    renders: z.int().describe('Size of the sample: at most the last 20,000'),
    failed: z.int(),
    groups: z
      .array(
        z.object({
          outcome: z.string(),
          domain: z.string(),
          account: z.string().describe('E-mail of the owner'),
          failed: z.int(),
          last_at: z.string(),
        }),
      )
      .describe('Most frequent first, at most 100'),
    last: z
      .array(
        z.object({
          outcome: z.string(),
          reason: z.string().nullable(),
          domain: z.string(),
          path: z.string().describe('Without its query'),
          ended_at: z.string(),
        }),
      )
      .describe('Newest first, at most 50'),
  }),
)

export function operatorQueue(app: ApiApp, { pool }: ApiDeps): void {
  const add = accountRoutes(app, 'Operator', 'operator')
  add('GET', '/api/operator/queue', 'readQueue', {
    summary: 'The queue of the fleet: depth, age, running jobs, longest waits',
    response: { 200: jsonResponse('The queue', fleetQueueSchema) },
    handler: async () => readFleetQueue(pool),
  })

  add('DELETE', '/api/operator/jobs/:jobId', 'cancelJob', {
    summary: 'Cancel a queued or running job; the result of a running one is dropped',
    params: z.object({ jobId: z.string() }),
    response: { 204: emptyResponse('Cancelled') },
    refuses: ['job_not_found'],
    handler: async (_account, request, reply) => {
      const id = parseJobId(request.params.jobId)
      if (id === null || !(await cancelJob(pool, id))) throw new AppError('job_not_found')
      return reply.code(204).send(null)
    },
  })

  add('GET', '/api/operator/failures', 'listFailures', {
    summary: 'Recent failed renders, by outcome and domain, and the last ones',
    response: { 200: jsonResponse('The failures', fleetFailuresSchema) },
    handler: async () => readFleetFailures(pool),
  })
}
