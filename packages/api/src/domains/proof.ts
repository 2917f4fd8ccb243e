import { proofAnswer } from '@prepaint/contract/api/proof.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

export function proof(app: ApiApp, { caughtUp, pool, proofs }: ApiParts): void {
  const add = domainRoutes(app, pool, 'Domains')

  add('GET', 'proof', 'getProof', {
    summary: 'Whether the account has proven that the name is its own, and how it can',
    description:
      'A TXT record, also of a parent name with at least two labels; a file; or a tag in the head of the page `/`. File and page are read where the public DNS leads, at every address, with redirects on the same host only.',
    response: { 200: jsonResponse('The proof', proofAnswer) },
    handler: async (domain) => ({ proof: await proofs.read(domain) }),
  })

  add('POST', 'proof/check', 'checkProof', {
    summary: 'Look for the proof now',
    description: 'Limit: 30 checks per account and hour.',
    refuses: ['too_many_checks'],
    response: { 200: jsonResponse('The proof after the check', proofAnswer) },
    handler: async (domain) => {
      const found = await proofs.check(domain)
      await caughtUp()
      return { proof: found }
    },
  })
}
