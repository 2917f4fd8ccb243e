import { type BulkResult, bulkAnswer, bulkBody } from '@prepaint/contract/api/portfolio.ts'
import type { Template } from '@prepaint/contract/api/templates.ts'
import { AppError, publicError } from '@prepaint/contract/errors.ts'
import type { DomainId, PagePath, Scope } from '@prepaint/contract/ids.ts'
import { actionRow, BULK_NEEDS } from '@prepaint/contract/roles.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { rerenderPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { limitReached, readQuota } from '@prepaint/pages/quota.ts'
import { purgeDomains } from '@prepaint/pages/store/purge.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Changer } from '@prepaint/service/accounts/actor.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { listOwnedDomains, type OwnedDomain } from '@prepaint/service/sites/domains.ts'
import { changeTags } from '@prepaint/service/sites/tags.ts'
import { changesOf, findTemplate } from '@prepaint/service/sites/templates.ts'
import type { z } from 'zod'
import { authorOf, callerOf, changerOf } from '../http/access.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

type Body = z.infer<typeof bulkBody>

/** Acts on one domain. Throws what the route of one domain throws. */
type Act = (domain: OwnedDomain) => Promise<void>

export function bulk(app: ApiApp, parts: ApiParts, { plans }: ApiOptions): void {
  const { caughtUp, clock, pool } = parts

  accountRoutes(app, 'Portfolio')('POST', '/api/bulk', 'bulk', {
    summary: 'Do the same to many domains: at most 1,000',
    description:
      'Each domain is answered on its own, and the others go on. `rerender` renders the home page again while the stored one is served. Nothing deletes a domain.',
    heaviness: 'change',
    body: bulkBody,
    refuses: ['key_forbidden', 'template_not_found', 'invalid_field'],
    response: { 200: jsonResponse('What became of each, in the order of the request', bulkAnswer) },
    handler: async (scope, request) => {
      const { body } = request
      const caller = callerOf(request)
      const { right } = actionRow(BULK_NEEDS[body.action])
      if (caller.keyId !== null && !caller.rights.includes(right!)) {
        throw new AppError('key_forbidden', { fields: { needs: right } })
      }
      const owned = new Map((await listOwnedDomains(pool, scope)).map((domain) => [domain.name, domain]))
      const wanted = body.domains.map((given) => {
        const parsed = parseDomainName(given)
        return { given, domain: (parsed.ok && owned.get(parsed.name)) || null }
      })
      const who = { author: authorOf(request), by: changerOf(request) }
      const act = await actOf(body, scope, wanted, who)
      const results: BulkResult[] = []
      const done = new Map<DomainId, Omit<BulkResult, 'domain'>>()
      for (const { given, domain } of wanted) {
        const result =
          domain === null
            ? refused(new AppError('domain_not_found'))
            : (done.get(domain.id) ?? (await tried(act, domain)))
        if (domain !== null) done.set(domain.id, result)
        results.push({ domain: given, ...result })
      }
      await caughtUp()
      return { results }
    },
  })

  async function tried(act: Act, domain: OwnedDomain): Promise<Omit<BulkResult, 'domain'>> {
    try {
      await act(domain)
      return { status: 200, error: null }
    } catch (error) {
      if (!(error instanceof AppError)) parts.log.error({ err: error }, 'a bulk action failed')
      return refused(error)
    }
  }

  /** Throws what is wrong with the action as a whole. Tags of all domains are changed at once. */
  async function actOf(
    body: Body,
    { account }: Scope,
    wanted: readonly { domain: OwnedDomain | null }[],
    who: { author: string; by: Changer },
  ): Promise<Act> {
    const view = () => ({ plans, nowMs: clock.nowMs() })
    switch (body.action) {
      case 'tag': {
        if (body.add === undefined && body.remove === undefined) {
          throw new AppError('invalid_field', {
            word: 'add or remove is required',
            problems: [{ path: ['add'], message: 'or remove is required' }],
          })
        }
        const ids = wanted.flatMap(({ domain }) => domain?.id ?? [])
        const refusals = await changeTags(pool, account, ids, {
          add: body.add,
          remove: body.remove,
          by: who.by,
        })
        return async ({ id }) => {
          const refusal = refusals.get(id)
          if (refusal !== undefined) throw refusal
        }
      }
      case 'template': {
        const template = await findTemplate(pool, account, body.template_id)
        return async (domain) => {
          const settings = changedBy(template, domain)
          if (settings === null) return
          const change = { ...who, settings, template: template.name }
          await updateDomain(pool, account, domain.name, change, view())
        }
      }
      case 'pause':
      case 'resume': {
        const isActive = body.action === 'resume'
        return async (domain) => {
          if (domain.isActive === isActive) return
          await updateDomain(pool, account, domain.name, { ...who, isActive }, view())
        }
      }
      case 'warm':
        return async (domain) => {
          await checkRenders(domain)
          await startWarm(pool, domain.id)
        }
      case 'rerender':
        return async (domain) => {
          await checkRenders(domain)
          await retriedTransaction(pool, (client) => rerenderPages(client, domain.id, [HOME]))
        }
      case 'purge':
        return async ({ id }) => void (await purgeDomains(pool, [id], { kind: 'all' }))
    }
  }

  async function checkRenders({ id, isActive }: OwnedDomain): Promise<void> {
    if (!isActive) throw new AppError('domain_inactive')
    const quota = await readQuota(pool, plans, id, clock.nowMs())
    if (quota !== null && limitReached(quota)) throw new AppError('render_limit')
  }
}

const HOME = '/' as PagePath

function refused(error: unknown): Omit<BulkResult, 'domain'> {
  const { status, body } = publicError(error)
  return { status, error: body.error }
}

/** The settings of the template that the domain has not yet, or null if it has all. */
function changedBy(template: Template, { settings }: OwnedDomain): Template['settings'] | null {
  const changes = changesOf(template, settings)
  return changes.length === 0
    ? null
    : Object.fromEntries(changes.map(({ setting, after }) => [setting, after]))
}
