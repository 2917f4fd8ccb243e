import type pg from 'pg'
import { z } from 'zod'

import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '../../certificates/certificate.ts'
import { supplyCertificate } from '../../certificates/own-certificate.ts'
import type { Vault } from '../../certificates/vault.ts'
import type { Clock } from '../../clock.ts'
import { callerOf } from '../access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import type { CaughtUp } from '../caught-up.ts'
import { certificateViewSchema } from '../certificate-schema.ts'
import { domainParams } from '../domain-schema.ts'
import { domainNameOf } from '../owned-domain.ts'

const bodySchema = z.object({
  certificate_chain: z
    .string()
    .min(1)
    .max(CHAIN_LIMIT_CHARS)
    .describe('PEM: the certificate of the domain first, then those that sign it, at most 10'),
  private_key: z
    .string()
    .min(1)
    .max(KEY_LIMIT_CHARS)
    .describe(
      'PEM, without a passphrase: RSA from 2048 bits, or ECDSA on P-256, P-384 or P-521. Kept encrypted',
    ),
})

type Deps = { pool: pg.Pool; vault: Vault; clock: Clock; caughtUp: CaughtUp }

export function certificatePut(app: ApiApp, deps: Deps): void {
  app.route({
    method: 'PUT',
    url: '/api/domains/:domain/certificate',
    config: { access: 'key' },
    schema: {
      operationId: 'putCertificate',
      tags: ['Certificates'],
      summary: 'Serve a domain with a certificate of your own; in use at once, and until it ends',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: bodySchema,
      response: {
        200: answer('The certificate that is in use now', certificateViewSchema),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'certificates_unavailable',
        ),
      },
    },
    handler: async (request) => {
      const { certificate_chain: chain, private_key: key } = request.body
      const domain = domainNameOf(request.params.domain)
      const { account } = callerOf(request)
      const view = await supplyCertificate(deps, account, domain, { chain, key }, deps.clock.nowMs())
      await deps.caughtUp()
      return { domain, ...view }
    },
  })
}
