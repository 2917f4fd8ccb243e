import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { checkTokenOf } from '@prepaint/contract/page/check-token.ts'
import { type PageUrl, parsePageUrl } from '@prepaint/contract/page/path.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { isAway } from '@prepaint/postgres/away.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import {
  type FrontRefusal,
  frontReason,
  frontRequestId,
  sendFrontRefusal,
} from '@prepaint/runtime/http/front-form.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { LastUse } from '@prepaint/service/accounts/last-use.ts'
import type { FrontEvidence } from '@prepaint/service/fronts/evidence.ts'
import { type FrontKey, findFrontKey } from '@prepaint/service/fronts/front-keys.ts'
import type { FrontAccountIds } from '@prepaint/service/fronts/front-secret.ts'
import { findOwnedDomain } from '@prepaint/service/sites/domains.ts'
import type { FailedAttempts } from '../http/failed-attempts.ts'
import type { KnownRoutes } from '../http/known-routes.ts'
import type { PageIntegrations } from './integration.ts'

type Parts = {
  accessDb: Queryable
  clock: Clock
  log: Log
  integrations: PageIntegrations
  evidence: FrontRefusals
  gate: ClientGate
  routes: KnownRoutes
  failures: FailedAttempts
  lastUse: LastUse
  accountIds: FrontAccountIds
}

/** Implemented by `FrontEvidence`. */
export type FrontRefusals = Pick<FrontEvidence, 'noteRefusal' | 'refuseCheck'>

/**
 * The form in which middlewares for prerender services ask for a page: `GET /https://host/path?query` with a key. A
 * response with `X-Prepaint` is the site's. All others are refusals, on which fronts open.
 */
export class MiddlewareForm {
  readonly #parts: Parts
  readonly #plans: PlanCatalogue
  #isClosing = false

  constructor(parts: Parts, plans: PlanCatalogue) {
    this.#parts = parts
    this.#plans = plans
  }

  /** Refuses requests from now on. */
  close(): void {
    this.#isClosing = true
  }

  /** Returns whether a request is of this form: by its path, or by its headers where the path is no route of ours. */
  isAskedBy({ url = '', headers }: IncomingMessage): boolean {
    if (pageUrlText(url) !== null || url.startsWith(ROUTE)) return true
    const isFromFront =
      headers['x-prerender-token'] !== undefined || headers['x-prerender-int-type'] !== undefined
    return isFromFront && this.#parts.routes.methodsOf(url) === null
  }

  /** Answers in the order of the checks. Never throws. */
  answer(req: IncomingMessage, res: ServerResponse): void {
    const id = frontRequestId(req.headers) ?? randomUUID()
    req.headers['x-prerender-request-id'] = id
    res.setHeader('X-Prerender-RequestId', id)
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      // An unread body would be parsed as the next request.
      if (!req.complete) res.shouldKeepAlive = false
      this.#refuse(req, res, 'method')
      return
    }
    if (this.#isClosing) {
      this.#refuse(req, res, 'unavailable')
      return
    }
    if (!this.#parts.gate.enter(req, res)) {
      res.shouldKeepAlive = false
      this.#refuse(req, res, 'over-capacity')
      return
    }
    this.#answerPage(req, res).catch((error: unknown) => {
      // The listener of the database logs its absence.
      if (!isAway(error))
        this.#parts.log.error({ err: error, prerenderRequestId: id }, "a front's request failed")
      this.#refuse(req, res, 'unavailable')
    })
  }

  async #answerPage(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { accessDb, clock, failures, lastUse, accountIds, integrations } = this.#parts
    if (failures.take(req, res) !== null) return this.#refuse(req, res, 'over-capacity')
    const raw = frontKeyOf(req.headers)
    if (raw === null) return this.#refuse(req, res, 'no-key')
    const key = await findFrontKey(accessDb, raw, clock.nowMs())
    if (key === null) {
      failures.countFailure(req)
      return this.#refuse(req, res, 'unknown-key')
    }
    failures.rememberGood(req)
    if (key.state === 'dead') return this.#refuseOwner(req, res, key.account, 'dead-key')
    lastUse.note(key.kind, key.id, key.lastUsedAt)
    res.setHeader('X-Prerender-User-Id', await accountIds.idOf(key.account))
    if (!mayAsk(key, this.#plans)) return this.#refuseOwner(req, res, key.account, 'plan', key)
    if (!key.mayRefresh) return this.#refuseOwner(req, res, key.account, 'right', key)

    const url = requestedPage(req.url ?? '')
    if (url === null) return this.#refuse(req, res, 'url')
    const page = await pageOfKey(accessDb, key, url)
    if (page === null) return this.#refuseOwner(req, res, key.account, 'domain', key)
    if (page === NOT_PROVEN) return this.#refuseOwner(req, res, key.account, 'not-proven', key)
    integrations.answer(req, res, { url: page, userAgent: req.headers['user-agent'] ?? null })
  }

  /** Refuses a request with a key of the account, and notes it for the domain, if that is the account's. */
  async #refuseOwner(
    req: IncomingMessage,
    res: ServerResponse,
    account: AccountId | null,
    refusal: FrontRefusal,
    key: WorkingKey | null = null,
  ): Promise<void> {
    const { accessDb, evidence } = this.#parts
    const url = requestedPage(req.url ?? '')
    if (account !== null && url !== null) {
      await noteRefusal(evidence, account, url, refusal, await mayNote(accessDb, key, url))
    }
    this.#refuse(req, res, refusal)
  }

  #refuse(req: IncomingMessage, res: ServerResponse, refusal: FrontRefusal): void {
    const prerenderRequestId = req.headers['x-prerender-request-id']
    this.#parts.log.debug(
      { prerenderRequestId, reason: frontReason(refusal) },
      "a front's request was refused",
    )
    sendFrontRefusal(res, refusal)
  }
}

/** Returns what the front shows as its key: an empty value is none. */
export function frontKeyOf(headers: IncomingHttpHeaders): string | null {
  for (const name of ['x-prerender-token', 'x-api-key']) {
    const value = headers[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return null
}

/** The same as a route that can be described. */
const ROUTE = '/page/'

type WorkingKey = Extract<FrontKey, { state: 'working' }>

/** Returns whether the plan of the key's account allows it. Site tokens are good on any plan. */
export function mayAsk({ kind, plan }: WorkingKey, plans: PlanCatalogue): boolean {
  return kind === 'site_token' || planNamed(plans, plan).api_keys
}

/** The account must prove that the name is its own before pages are given. */
export const NOT_PROVEN = 'not-proven'

/** Returns the page of a domain for which the key is good, or null. Tells nothing of other accounts' domains. */
export async function pageOfKey(
  db: Queryable,
  key: WorkingKey,
  url: PageUrl,
): Promise<PageUrl | typeof NOT_PROVEN | null> {
  const name = domainNameOf(url)
  if (name === null || (key.domain !== null && key.domain !== name)) return null
  const domain = await findOwnedDomain(db, { account: key.account, domains: key.domains }, name)
  if (domain === null) return null
  return domain.isServed ? { ...url, host: domain.name } : NOT_PROVEN
}

/** Notes for the owner that a front of theirs was refused. Rejects if the database does not answer. */
export async function noteRefusal(
  evidence: FrontRefusals,
  account: AccountId,
  url: PageUrl,
  refusal: FrontRefusal,
  isIncident: boolean,
): Promise<void> {
  const name = domainNameOf(url)
  if (name === null) return
  const noted = { account, name, reason: frontReason(refusal) }
  if (isIncident) evidence.noteRefusal(noted)
  const token = checkTokenOf(url.path)
  if (token !== null) await evidence.refuseCheck(token, noted)
}

/** A key that is limited to some domains raises no incidents at others. */
export async function mayNote(db: Queryable, key: WorkingKey | null, url: PageUrl): Promise<boolean> {
  return key === null || key.domains === null || (await pageOfKey(db, key, url)) !== null
}

function domainNameOf({ host }: PageUrl): DomainName | null {
  const parsed = parseDomainName(host.replace(/:\d*$/, ''))
  return parsed.ok ? parsed.name : null
}

/** Returns the page that a request names, or null if that is no URL of a page. */
function requestedPage(url: string): PageUrl | null {
  const text = pageUrlText(url.startsWith(ROUTE) ? url.slice(ROUTE.length - 1) : url)
  return text === null ? null : parsePageUrl(text)
}

/**
 * Returns the URL that the path holds, or null if it begins with none. Some middlewares encode it as one segment, the
 * query in it or after it. Proxies merge its slashes.
 */
function pageUrlText(url: string): string | null {
  const whole = url
    .replace(/^(\/https?:)\/(?!\/)/i, '$1//')
    .replace(/^(\/https?(?:%3a|:))%2f(?!%2f)/i, '$1%2f%2f')
  if (/^\/https?:\/\//i.test(whole)) return whole.slice(1)
  if (!/^\/https?(?:%3a|:)%2f%2f/i.test(whole)) return null
  const queryAt = whole.indexOf('?')
  const address = queryAt === -1 ? whole : whole.slice(0, queryAt)
  const query = queryAt === -1 ? '' : whole.slice(queryAt)
  try {
    return decodeURIComponent(address.slice(1)) + query
  } catch {
    // It is of this form, and no URL.
    return ''
  }
}
