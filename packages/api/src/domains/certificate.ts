import {
  certificateViewSchema,
  deleteCertificateAnswer,
  putCertificateBody,
} from '@prepaint/contract/api/certificate.ts'
import { domainParams } from '@prepaint/contract/api/domain.ts'
import {
  foundCertificate,
  supplyCertificate,
  withdrawCertificate,
} from '@prepaint/service/certificates/own-certificate.ts'
import { changerOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, domainNameWithin } from '../http/routes.ts'

export function certificates(app: ApiApp, { caughtUp, clock, pool, vault }: ApiParts): void {
  const add = accountRoutes(app, 'Certificates')

  add('GET', '/api/domains/:domain/certificate', 'getCertificate', {
    summary: 'The certificate of a domain, without its key, and the state of the next order',
    params: domainParams,
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('The certificate', certificateViewSchema) },
    handler: async (scope, request) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      return { domain, ...(await foundCertificate(pool, scope.account, domain)) }
    },
  })

  add('PUT', '/api/domains/:domain/certificate', 'putCertificate', {
    summary: 'Serve a domain with your own certificate, at once and until it expires',
    params: domainParams,
    body: putCertificateBody,
    refuses: ['domain_not_found', 'certificates_unavailable'],
    response: { 200: jsonResponse('The certificate that is now in use', certificateViewSchema) },
    handler: async (scope, request) => {
      const { certificate_chain: chain, private_key: key } = request.body
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      const view = await supplyCertificate(
        { pool, vault },
        scope.account,
        domain,
        { chain, key },
        clock.nowMs(),
        changerOf(request),
      )
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
      200: jsonResponse('What was removed', deleteCertificateAnswer),
    },
    handler: async (scope, request) => {
      const domain = await domainNameWithin(pool, scope, request.params.domain)
      const by = changerOf(request)
      const deleted = await withdrawCertificate(pool, scope.account, domain, clock.nowMs(), by)
      await caughtUp()
      return { domain, deleted }
    },
  })
}
