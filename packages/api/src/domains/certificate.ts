import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { domainParams } from '@prepaint/contract/api/domain-schema.ts'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '@prepaint/service/certificates/certificate.ts'
import {
  foundCertificate,
  supplyCertificate,
  withdrawCertificate,
} from '@prepaint/service/certificates/own-certificate.ts'
import { z } from 'zod'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { domainNameFrom } from '../http/owned-domain.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

const bodySchema = z.object({
  certificate_chain: z
    .string()
    .min(1)
    .max(CHAIN_LIMIT_CHARS)
    .describe('PEM: the certificate of the domain, then its chain; at most 10'),
  private_key: z
    .string()
    .min(1)
    .max(KEY_LIMIT_CHARS)
    .describe(
      'PEM, without a passphrase: RSA from 2048 bits, or ECDSA on P-256, P-384 or P-521. Kept encrypted',
    ),
})

const time = z.iso.datetime({ precision: 3 })

const certificateSchema = apiSchema(
  'Certificate',
  z.object({
    source: z.enum(['acme', 'own']).describe('`acme`: ordered by us; `own`: supplied by the owner'),
    names: z.array(z.string()).describe('Its DNS names'),
    issuer: z.string(),
    serial: z.string().describe('Serial number, hexadecimal'),
    fingerprint: z.string().describe('SHA-256 of the certificate'),
    key: z.string().describe('Type of its key, such as `EC prime256v1`'),
    not_before: time,
    not_after: time,
  }),
)

const orderSchema = apiSchema(
  'CertificateOrder',
  z.object({
    next_attempt_at: time
      .nullable()
      .describe('When the next certificate is ordered, if the operator has configured a CA'),
    failures: z.int().describe('Failed attempts in a row'),
    last_error: z.string().nullable().describe('Why the last one failed'),
    last_error_at: time.nullable(),
  }),
)

export const certificateViewSchema = z.object({
  domain: z.string(),
  certificate: certificateSchema.nullable().describe('null: none'),
  order: orderSchema,
})

export function certificates(app: ApiApp, deps: ApiDeps): void {
  const { caughtUp, clock, pool } = deps
  const add = accountRoutes(app, 'Certificates')

  add('GET', '/api/domains/:domain/certificate', 'getCertificate', {
    summary: 'The certificate of a domain, without its key, and the state of the next order',
    params: domainParams,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('The certificate', certificateViewSchema) },
    handler: async (account, request) => {
      const domain = domainNameFrom(request.params.domain)
      return { domain, ...(await foundCertificate(pool, account, domain)) }
    },
  })

  add('PUT', '/api/domains/:domain/certificate', 'putCertificate', {
    summary: 'Serve a domain with your own certificate, at once and until it expires',
    params: domainParams,
    body: bodySchema,
    refuses: ['domain_not_found', 'certificates_unavailable'],
    response: { 200: jsonResponse('The certificate that is now in use', certificateViewSchema) },
    handler: async (account, request) => {
      const { certificate_chain: chain, private_key: key } = request.body
      const domain = domainNameFrom(request.params.domain)
      const view = await supplyCertificate(deps, account, domain, { chain, key }, clock.nowMs())
      await caughtUp()
      return { domain, ...view }
    },
  })

  add('DELETE', '/api/domains/:domain/certificate', 'deleteCertificate', {
    summary:
      'Remove the certificate of a domain; if the operator has configured a CA, another one is ordered',
    params: domainParams,
    refuses: ['domain_not_found', 'certificate_not_found'],
    response: {
      200: jsonResponse('What was removed', z.object({ domain: z.string(), deleted: certificateSchema })),
    },
    handler: async (account, request) => {
      const domain = domainNameFrom(request.params.domain)
      const deleted = await withdrawCertificate(pool, account, domain, clock.nowMs())
      await caughtUp()
      return { domain, deleted }
    },
  })
}
