import type pg from 'pg'

import { foundCertificate } from '../../certificates/own-certificate.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { certificateViewSchema } from '../certificate-schema.ts'
import { domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

export function certificateGet(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/certificate',
    config: { access: 'key' },
    schema: {
      operationId: 'getCertificate',
      tags: ['Certificates'],
      summary:
        'The certificate that a domain is served with, and how getting the next one goes; never its key',
      security: [{ ApiKey: [] }],
      params: domainParams,
      response: {
        200: answer('The certificate', certificateViewSchema),
        ...refusals(...KEY_REFUSALS, 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const domain = domainNameOf(request.params.domain)
      return { domain, ...(await foundCertificate(deps.pool, callerOf(request).account, domain)) }
    },
  })
}
