import type pg from 'pg'
import { z } from 'zod'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '../../certificates/certificate.ts'
import {
  foundCertificate,
  supplyCertificate,
  withdrawCertificate,
} from '../../certificates/own-certificate.ts'
import type { Vault } from '../../certificates/vault/vault.ts'
import type { Clock } from '../../clock.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, refusals } from '../http/answer.ts'
import { type ApiApp, apiSchema, type CaughtUp } from '../http/app.ts'
import { domainNameOf, domainParams } from './domain-schema.ts'

type DeleteDeps = { pool: pg.Pool; clock: Clock; caughtUp: CaughtUp }

export function certificateDelete(app: ApiApp, deps: DeleteDeps): void {
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

type PutDeps = { pool: pg.Pool; vault: Vault; clock: Clock; caughtUp: CaughtUp }

export function certificatePut(app: ApiApp, deps: PutDeps): void {
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

const time = z.iso.datetime({ precision: 3 })

const certificateSchema = apiSchema(
  'Certificate',
  z.object({
    source: z.enum(['acme', 'own']).describe('`acme`: ordered by us; `own`: supplied by the owner'),
    names: z.array(z.string()).describe('DNS names that it is for'),
    issuer: z.string(),
    serial: z.string().describe('Serial number, hexadecimal'),
    fingerprint: z.string().describe('SHA-256 of the certificate'),
    key: z.string().describe('Kind of its key, such as `EC prime256v1`'),
    not_before: time,
    not_after: time,
  }),
)

const orderSchema = apiSchema(
  'CertificateOrder',
  z.object({
    next_attempt_at: time
      .nullable()
      .describe('When the next certificate is looked for, where the operator has named a CA'),
    failures: z.int().describe('Attempts in a row that came to nothing'),
    last_error: z.string().nullable().describe('Why the last of them came to nothing'),
    last_error_at: time.nullable(),
  }),
)

export const certificateViewSchema = z.object({
  domain: z.string(),
  certificate: certificateSchema.nullable().describe('null: there is none'),
  order: orderSchema,
})
