import { cancelJobParams, fleetFailuresSchema, fleetQueueSchema } from '@prepaint/contract/api/operator.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import { cancelJob } from '@prepaint/pages/queue/jobs/cancel.ts'
import { readFleetFailures, readFleetQueue } from '@prepaint/pages/queue/jobs/fleet.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { operatorRoutes } from '../http/routes.ts'

export function operatorQueue(app: ApiApp, { pool }: ApiParts): void {
  const add = operatorRoutes(app)
  add('GET', '/api/operator/queue', 'readQueue', {
    summary: 'The queue of the fleet: depth, age, running jobs, longest waits',
    response: { 200: jsonResponse('The queue', fleetQueueSchema) },
    handler: async () => readFleetQueue(pool),
  })

  add('DELETE', '/api/operator/jobs/:jobId', 'cancelJob', {
    summary: 'Cancel a queued or running job; the result of a running one is dropped',
    params: cancelJobParams,
    response: { 204: emptyResponse('Cancelled') },
    refuses: ['job_not_found'],
    handler: async (_session, request, reply) => {
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
