import { STATUS_CODES } from 'node:http'

import type { ClientGate } from '../../http/client-limits.ts'
import { freshnessOf } from '../../store/freshness.ts'
import type { PageId } from '../../store/page-id.ts'
import { headerLines } from '../page/plain-page.ts'
import type { Served } from '../page/prepared-page.ts'
import { pageAnswer, readyFor, stampOf } from '../page/send-page.ts'
import type { RequestHead } from '../server/exchange.ts'
import type { SendAnswer } from '../server/fast-lane.ts'
import { decide } from './decide.ts'
import type { EdgeDomain } from './domain.ts'
import type { EdgeDeps } from './handler.ts'
import { createDemand } from './visit-recorder.ts'

type ReadyHitDeps = Omit<EdgeDeps, 'pages' | 'findDomain'> & {
  gate: Pick<ClientGate, 'mayEnter' | 'enter'>
  /** undefined: it would have to be asked for. */
  domainInMemory(host: string): EdgeDomain | undefined
  /** undefined: it would have to be asked for. */
  pageInMemory(page: PageId): Served | undefined
}

/**
 * Answers a request for a page that is fresh and lies ready in memory: the way of a hit through `handler.ts`, with
 * the same bytes. False: it is anything else, and nothing has been done about it.
 */
export function createReadyHit(deps: ReadyHitDeps, options: { keepAliveMs: number }) {
  const { clock, crawlerOf, gate, report } = deps
  const demand = createDemand(deps)
  const dateLine = createDateLine()
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(options.keepAliveMs / 1_000)}\r\n\r\n`

  return (req: RequestHead, send: SendAnswer): boolean => {
    if (!gate.mayEnter(req)) return false
    const domain = deps.domainInMemory(req.headers.host ?? '')
    if (domain === undefined || deps.isInsecure(req, domain)) return false
    const crawler = crawlerOf(req.headers['user-agent'], domain.crawlers)
    const { via, authorization } = req.headers
    const asked = { method: req.method, crawler, via, authorization }
    const target = decide(asked, domain, deps.targetOf(domain, req.url ?? '/'))
    if (target.kind !== 'page') return false
    const page = deps.pageInMemory(target.page)
    const nowMs = clock.nowMs()
    if (page?.kind !== 'page' || freshnessOf(page, target.lifetimes, nowMs) !== 'fresh') return false
    // Of an answer that has no body node writes none, whatever is stored.
    if (page.status === 204 || page.status === 304) return false
    const ready = readyFor(req, page)
    if (ready === undefined) return false

    const res = { headersSent: true, statusCode: page.status, closed: true, on: () => res }
    const answered = report(req, res)
    demand.served({ req, domain, target, nowMs }, page)
    const { status, same, own, body } = pageAnswer(
      req,
      page,
      ready,
      stampOf(page, target.lifetimes, nowMs, 'hit'),
    )
    res.statusCode = status
    const head = `${statusLine(status)}${same.lines}${headerLines(own)}${dateLine(nowMs)}${keepAlive}`
    const underWay = send(head, body)
    if (underWay !== null) gate.enter(req, underWay)
    answered('hit')
    return true
  }
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
}

/** Made once in each second. */
function createDateLine(): (nowMs: number) => string {
  let second = Number.NaN
  let line = ''
  return (nowMs) => {
    const now = Math.floor(nowMs / 1_000)
    if (now !== second) {
      second = now
      line = `Date: ${new Date(now * 1_000).toUTCString()}\r\n`
    }
    return line
  }
}
