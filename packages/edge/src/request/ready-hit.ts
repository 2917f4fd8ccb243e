import type { Handled } from '@prepaint/contract/outcome/verdict.ts'
import { checkTokenOf } from '@prepaint/contract/page/check-token.ts'
import { freshnessOf } from '@prepaint/contract/page/freshness.ts'
import { proofMarkOf } from '@prepaint/contract/page/proof-mark.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import type { RequestIds } from '@prepaint/runtime/http/request-id.ts'
import type { PageCache } from '../page/page-cache.ts'
import type { Representation, Served } from '../page/prepared-page.ts'
import { formIn, type Given, type PageAnswer, pageAnswer, readyFor, stampOf } from '../page/send-page.ts'
import type { RequestHead, SendAnswer } from '../server/exchange.ts'
import { type Asking, askingOf, decide } from './decide.ts'
import type { Domains, EdgeDomain } from './domain.ts'
import type { Entrance } from './handler.ts'
import type { Report } from './report.ts'
import type { PageTarget, Targets } from './target.ts'
import type { VisitRecorder } from './visit-recorder.ts'

export type HitParts = {
  clock: Clock
  domains: Domains
  targets: Targets
  pages: PageCache<Served>
  recorder: VisitRecorder
  requestIds: RequestIds
  report: Report
}

type ReadyHit = {
  domain: EdgeDomain
  asking: Asking
  target: PageTarget
  given: Given
  representation: Representation
  nowMs: number
}

/**
 * Defines a hit: the whole response is in memory. Returns null if the request must be handled normally. Has no side
 * effects.
 */
export function readyHit(parts: HitParts, entrance: Entrance, head: RequestHead): ReadyHit | null {
  const domain = parts.domains.inMemory(head.headers.host ?? '')
  if (domain === undefined || entrance.isInsecure(head, domain)) return null
  if (checkTokenOf(head.url ?? '') !== null || proofMarkOf(head.headers) !== null) return null
  const crawler = entrance.categoryOf(head.headers['user-agent'], domain.crawlers)
  const asking = askingOf(head, crawler, domain)
  const meant = parts.targets.of(domain, head.url ?? '/', asking.as, head.headers['user-agent'])
  if (meant.own !== null && entrance.servesOwnAnswers) return null
  const target = decide(head, asking, domain, meant)
  if (target.kind !== 'page' || !target.isKept) return null
  const page = parts.pages.inMemory(target.page)
  const nowMs = parts.clock.nowMs()
  if (page?.kind !== 'page' || target.otherEffects.has(page.effect)) return null
  if (freshnessOf(page, target.lifetimes, nowMs) !== 'fresh') return null
  const form = formIn(page, asking.form)
  if (form === undefined || form === 'own-markdown') return null
  const given = { page, form, path: target.page.path }
  const representation = readyFor(head, given)
  if (representation === undefined) return null
  return { domain, asking, target, given, representation, nowMs }
}

export function answerHit({ recorder, pages }: HitParts, head: RequestHead, hit: ReadyHit): PageAnswer {
  const { domain, target, asking, given, representation, nowMs } = hit
  const { page } = given
  const visit = { target, category: asking.crawler, userAgent: head.headers['user-agent'] ?? '', nowMs }
  recorder.served(visit, page)
  pages.noteRead()
  return pageAnswer(head, given, representation, stampOf(page, target.lifetimes, nowMs, 'hit'), domain)
}

export function handledHit({ domain, asking, target, given }: ReadyHit): Handled {
  return { verdict: 'hit', domain, page: target.page, crawler: asking.crawler, form: given.form }
}

/**
 * Answers a hit before any request object is made, with the same bytes. The result returns false, and has had no side
 * effects, if the request is not a hit.
 */
export function createFastHit(parts: HitParts, entrance: Entrance, gate: ClientGate) {
  const { report, requestIds } = parts
  return (head: RequestHead, send: SendAnswer): boolean => {
    if (!gate.mayEnter(head)) return false
    const hit = readyHit(parts, entrance, head)
    // Node writes no body for these.
    if (hit === null || hit.given.page.status === 204 || hit.given.page.status === 304) return false
    requestIds.assign(head)
    const started = report.now()
    const answer = answerHit(parts, head, hit)
    const unsent = send(answer, hit.nowMs)
    if (unsent !== null) gate.enter(head, unsent)
    report.end(head, started, handledHit(hit), answer.status)
    return true
  }
}
