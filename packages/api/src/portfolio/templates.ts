import {
  deletedTemplateAnswer,
  listTemplatesAnswer,
  previewTemplateAnswer,
  previewTemplateBody,
  type TemplateSettings,
  templateAnswer,
  templateBody,
  templateParams,
} from '@prepaint/contract/api/templates.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import {
  changesOf,
  createTemplate,
  deleteTemplate,
  findTemplate,
  listTemplates,
  updateTemplate,
} from '@prepaint/service/sites/templates.ts'
import { refuseSelectors } from '../domains/refuse-selectors.ts'
import { changerOf } from '../http/access.ts'
import { type ApiApp, type ApiParts, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, ownedDomain } from '../http/routes.ts'

export function templates(app: ApiApp, { pool, selectors }: ApiParts): void {
  const add = accountRoutes(app, 'Portfolio')
  const idFrom = (raw: string) => numberFrom(raw, 'template_not_found')
  const check = (account: AccountId, { rules = [] }: TemplateSettings) =>
    refuseSelectors(selectors, account, rules, ['settings', 'rules'])

  add('GET', '/api/templates', 'listTemplates', {
    summary: 'Settings that can be copied to domains, by name',
    response: { 200: jsonResponse('The templates', listTemplatesAnswer) },
    handler: async ({ account }) => ({ templates: await listTemplates(pool, account) }),
  })

  add('POST', '/api/templates', 'createTemplate', {
    summary: 'Keep settings under a name: at most 50 templates',
    body: templateBody,
    refuses: ['template_limit'],
    response: { 201: jsonResponse('The template', templateAnswer) },
    handler: async ({ account }, request, reply) => {
      await check(account, request.body.settings)
      const template = await createTemplate(pool, account, request.body, changerOf(request))
      reply.code(201)
      return { template }
    },
  })

  add('PUT', '/api/templates/:id', 'updateTemplate', {
    summary: 'Replace name and settings of a template. Domains keep what they got from it',
    params: templateParams,
    body: templateBody,
    refuses: ['template_not_found'],
    response: { 200: jsonResponse('The template after the change', templateAnswer) },
    handler: async ({ account }, request) => {
      const id = idFrom(request.params.id)
      await check(account, request.body.settings)
      return { template: await updateTemplate(pool, account, id, request.body, changerOf(request)) }
    },
  })

  add('DELETE', '/api/templates/:id', 'deleteTemplate', {
    summary: 'Delete a template. Domains keep what they got from it',
    params: templateParams,
    refuses: ['template_not_found'],
    response: { 200: jsonResponse('What was deleted', deletedTemplateAnswer) },
    handler: async ({ account }, request) => ({
      deleted: await deleteTemplate(pool, account, idFrom(request.params.id), changerOf(request)),
    }),
  })

  add('POST', '/api/templates/:id/preview', 'previewTemplate', {
    summary: 'What a template would change in each of some domains',
    heaviness: 'read',
    params: templateParams,
    body: previewTemplateBody,
    refuses: ['template_not_found', 'domain_not_found'],
    response: { 200: jsonResponse('The changes', previewTemplateAnswer) },
    handler: async (scope, request) => {
      const template = await findTemplate(pool, scope.account, idFrom(request.params.id))
      const previews = []
      for (const name of request.body.domains) {
        const { name: domain, settings } = await ownedDomain(pool, scope, name)
        previews.push({ domain, changes: changesOf(template, settings) })
      }
      return { domains: previews }
    },
  })
}
