import { checklistAnswer, hideChecklistBody } from '@prepaint/contract/api/checklist.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { checkOffSteps, hideChecklist } from '@prepaint/service/sites/checklist.ts'
import type { OwnedDomain } from '@prepaint/service/sites/domains.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

export function checklist(app: ApiApp, { clock, mailer, pool }: ApiParts): void {
  const add = domainRoutes(app, pool, 'Domains')
  const response = { 200: jsonResponse('The first steps', checklistAnswer) }
  const readSteps = async ({ id, name, account }: OwnedDomain & { account: AccountId }) => {
    const asked = { account, domain: id, isByMail: mailer !== null, nowMs: clock.nowMs() }
    return { domain: name, checklist: await checkOffSteps(pool, asked) }
  }

  add('GET', 'checklist', 'getChecklist', {
    summary: 'The first steps of a domain, and which of them are done',
    description: 'Each step checks itself, and stays done.',
    response,
    handler: readSteps,
  })

  add('PUT', 'checklist', 'hideChecklist', {
    summary: 'Hide the first steps of a domain for all members, or show them again',
    body: hideChecklistBody,
    response,
    handler: async (domain, { body }) => {
      await hideChecklist(pool, { account: domain.account, domain: domain.id, isHidden: body.is_hidden })
      return readSteps(domain)
    },
  })
}
