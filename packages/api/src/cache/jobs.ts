import { getJobParams, jobSchema } from '@prepaint/contract/api/cache.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { parseJobId } from '@prepaint/contract/ids.ts'
import { findJob } from '@prepaint/pages/queue/jobs/find-job.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export function renderJobs(app: ApiApp, { pool }: ApiParts): void {
  const add = accountRoutes(app, 'Jobs')

  add('GET', '/api/jobs/:jobId', 'getJob', {
    summary: 'State of a render job; kept for a week',
    params: getJobParams,
    refuses: ['job_not_found'],
    response: { 200: jsonResponse('The job', jobSchema) },
    handler: async (scope, request) => {
      const id = parseJobId(request.params.jobId)
      const job = id === null ? null : await findJob(pool, scope, id)
      if (job === null) throw new AppError('job_not_found')
      return job
    },
  })
}
