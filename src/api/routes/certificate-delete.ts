import type pg from 'pg'
import { z } from 'zod'

import { withdrawCertificate } from '../../certificates/own-certificate.ts'
import type { Clock } from '../../clock.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { certificateSchema } from '../certificate-schema.ts'
import { domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

type Deps = { pool: pg.Pool; clock: Clock; caughtUp: CaughtUp }

export function certificateDelete(app: ApiApp, deps: Deps): void {
  app.route({
    method: 'DELETE',
    url: '/api/domains/:domain/certificate',
    config: { access: 'key' },
    schema: {
      operationId: 'deleteCertificate',
      tags: ['Certificates'],
      summary:
        'Take the certificate of a domain out of use; where the operator has named a CA, another is ordered',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('What was removed', z.object({ domain: z.string(), deleted: certificateSchema })),
        ...refusals(...KEY_REFUSALS, ...BODY_REFUSALS, 'domain_not_found', 'certificate_not_found'),
      },
    },
    handler: async (request) => {
      const domain = domainNameOf(request.params.domain)
      const { account } = callerOf(request)
      const deleted = await withdrawCertificate(deps.pool, account, domain, deps.clock.nowMs())
      await deps.caughtUp()
      return { domain, deleted }
    },
  })
}
