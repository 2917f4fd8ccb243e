import type pg from 'pg'
import { z } from 'zod'

import { AppError } from '../../errors.ts'
import { parseJobId } from '../../ids.ts'
import { cancelJob } from '../../queue/jobs/cancel.ts'
import { readFleetFailures, readFleetQueue } from '../../queue/jobs/fleet.ts'
import { answer, emptyAnswer, OPERATOR_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import { apiSchema } from '../http/app.ts'

const priority = z.enum(['live', 'refresh', 'warm'])

export const fleetQueueSchema = apiSchema(
  'FleetQueue',
  z.object({
    priorities: z.array(
      z.object({
        priority,
        queued: z.int().describe('At most 100,000 are counted'),
        oldest_seconds: z.number().describe('How long the first in line has waited'),
      }),
    ),
    running: z
      .array(
        z.object({
          jobId: z.string(),
          domain: z.string(),
          path: z.string().describe('Without its query'),
          priority,
          node: z.string().describe('As the list of nodes has it'),
          running_seconds: z.number(),
          attempts: z.int(),
        }),
      )
      .describe('At most 200, the longest first'),
    waiting: z
      .array(z.object({ domain: z.string(), priority, queued: z.int(), waiting_seconds: z.number() }))
      .describe('The 20 domains whose first job has waited longest'),
  }),
)

export const fleetFailuresSchema = apiSchema(
  'FleetFailures',
  z.object({
    since: z.string().nullable().describe('The oldest render that was looked at; null: there was none'),
    renders: z.int().describe('Looked at: the last 20,000 at most'),
    failed: z.int(),
    groups: z
      .array(
        z.object({
          outcome: z.string(),
          domain: z.string(),
          account: z.string().describe('E-mail of its owner'),
          failed: z.int(),
          last_at: z.string(),
        }),
      )
      .describe('The most frequent first, at most 100'),
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
      .describe('The newest first, at most 50'),
  }),
)

/** The queue and what failed, of the whole fleet, for operators; nothing of what pages hold. */
export function operatorQueue(app: ApiApp, { pool }: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/operator/queue',
    config: { access: 'operator' },
    schema: {
      operationId: 'readQueue',
      tags: ['Operator'],
      summary: 'The queue of the fleet: depth and age, what runs where, who waits longest',
      security: [{ Session: [] }],
      response: { 200: answer('The queue', fleetQueueSchema), ...refusals(...OPERATOR_REFUSALS) },
    },
    handler: async () => readFleetQueue(pool),
  })

  app.route({
    method: 'DELETE',
    url: '/api/operator/jobs/:jobId',
    config: { access: 'operator' },
    schema: {
      operationId: 'cancelJob',
      tags: ['Operator'],
      summary: 'Cancel an open job; of one that runs, the result is dropped',
      security: [{ Session: [] }],
      params: z.object({ jobId: z.string() }),
      response: {
        204: emptyAnswer('Cancelled'),
        ...refusals(...OPERATOR_REFUSALS, 'job_not_found', 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      const id = parseJobId(request.params.jobId)
      if (id === null || !(await cancelJob(pool, id))) throw new AppError('job_not_found')
      return reply.code(204).send(null)
    },
  })

  app.route({
    method: 'GET',
    url: '/api/operator/failures',
    config: { access: 'operator' },
    schema: {
      operationId: 'listFailures',
      tags: ['Operator'],
      summary: 'Renders that failed lately, by outcome and domain, and the last ones',
      security: [{ Session: [] }],
      response: { 200: answer('The failures', fleetFailuresSchema), ...refusals(...OPERATOR_REFUSALS) },
    },
    handler: async () => readFleetFailures(pool),
  })
}
