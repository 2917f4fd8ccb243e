import type { Clock } from '../../clock.ts'
import { toOriginForm } from '../../http/origin-form.ts'
import { requestIdOf } from '../../http/request-id.ts'
import type { Log } from '../../log.ts'
import { freshnessOf } from '../../store/freshness.ts'
import type { PageCache } from '../../store/page-cache.ts'
import type { CrawlerTest } from '../crawlers/crawler-test.ts'
import type { FrontOf, Pass } from '../origin/pass.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { Served } from '../page/prepared-page.ts'
import type { Sitemaps } from '../page/send-sitemap.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from '../server/exchange.ts'
import { decide } from './decide.ts'
import type { EdgeDomain } from './domain.ts'
import { createLiveRender, type LiveRenderDeps } from './live-render.ts'
import type { Report } from './report.ts'
import { createEndings } from './responses.ts'
import type { PageTarget, Target } from './target.ts'
import type { NoVerdict, Verdict } from './verdict.ts'
import { createDemand, type DemandDeps } from './visit-recorder.ts'

/** What the edge needs, in its own words. bin/ supplies it; so do tests. */
export type EdgeDeps = LiveRenderDeps &
  DemandDeps & {
    clock: Clock
    /** By the `Host` header; without a promise when it is in memory. */
    findDomain(host: string): EdgeDomain | null | Promise<EdgeDomain | null>
    targetOf(domain: EdgeDomain, url: string): Target
    crawlerOf: CrawlerTest
    /** To be asked again by https. */
    isInsecure(req: RequestHead, domain: EdgeDomain): boolean
    pages: Pick<PageCache<Served>, 'find' | 'reread' | 'admission' | 'grown'>
    sitemaps: Sitemaps
    pass: Pass
    frontOf: FrontOf
    report: Report
  }

/**
 * One live request, top to bottom: every way it can end is a `return` in
 * `answer`. The hit path runs through it without waiting once: what is in
 * memory comes without a promise. (Hits of HTTP/1.1 for which all lies ready have been answered before, see `ready-hit.ts`.)
 */
export function createEdgeHandler(deps: EdgeDeps, options: { liveWaitMs: number }) {
  const { clock, log, sitemaps } = deps
  const find = createFindStored(deps)
  const renderNow = createLiveRender(deps, options)
  const demand = createDemand(deps)
  const { serve, pass, sitemap, none } = createEndings(deps, demand)

  return function handle(req: EdgeRequest, res: EdgeResponse): void {
    const report = deps.report(req, res)
    answer(req, res).then(report, (error: Error) => {
      log.error({ err: error, host: req.headers.host, url: req.url }, 'a live request failed')
      sendPlainPage(res, 'unavailable', 'none; fault')
      report('none; fault')
    })
  }

  async function answer(req: EdgeRequest, res: EdgeResponse): Promise<Verdict | NoVerdict> {
    if (!toOriginForm(req)) return none(res, 'bad-request')
    const found = deps.findDomain(req.headers.host ?? '')
    const domain = found instanceof Promise ? await found : found
    if (domain === null) return none(res, 'unknown-host')
    if (deps.isInsecure(req, domain)) return sendToHttps(req, res, domain)

    const crawler = deps.crawlerOf(req.headers['user-agent'], domain.crawlers)
    const { via, authorization } = req.headers
    const asked = { method: req.method, crawler, via, authorization }
    const target = decide(asked, domain, deps.targetOf(domain, req.url ?? '/'))
    if (target.kind === 'pass') return pass(req, res, domain, target.why)

    const exchange = { req, res, domain, target, nowMs: clock.nowMs() }
    if (target.kind === 'sitemap') return sitemap(exchange)
    if (target.kind === 'xml') {
      if (await sitemaps.isNamed(domain, target.page.path)) return sitemap(exchange)
      return pass(req, res, domain, 'asset')
    }

    const read = find(target)
    const stored = read instanceof Promise ? await read : read
    if (stored === 'unreadable') return pass(req, res, domain, 'database')
    const freshness = stored === null ? 'gone' : freshnessOf(stored, target.lifetimes, exchange.nowMs)
    if (stored !== null && freshness === 'fresh') return serve(exchange, stored, 'hit')
    if (stored !== null && freshness === 'stale') {
      demand.refresh(exchange)
      return serve(exchange, stored, 'stale')
    }

    if (await sitemaps.isNamed(domain, target.page.path)) return sitemap(exchange)
    if (await deps.isForged(req, domain)) return pass(req, res, domain, 'forged')
    const rendered = await renderNow(domain, target.page, res)
    if (typeof rendered !== 'string') return serve(exchange, rendered, 'rendered')
    // At 120 % of its quota a domain is passed; what is kept is for failures.
    if (stored !== null && freshness === 'kept' && rendered !== 'over-quota') {
      return serve(exchange, stored, 'stale')
    }
    // There is no such page: nothing to warm.
    if (String(rendered) !== 'soft-404') demand.note(exchange)
    return pass(req, res, domain, rendered)
  }
}

type FindStoredDeps = { log: Log; pages: Pick<PageCache<Served>, 'find'> }

/** What is stored for a target: without a promise when it is in memory. Never rejects. */
function createFindStored({ log, pages }: FindStoredDeps) {
  function unreadable(error: Error): 'unreadable' {
    log.error({ err: error }, 'the page store could not be asked')
    return 'unreadable'
  }

  return (target: PageTarget): Served | Promise<Served | null | 'unreadable'> => {
    const read = pages.find(target.page)
    return read instanceof Promise ? read.catch(unreadable) : read
  }
}

/**
 * Sends people and crawlers to the same address by https, on its usual port.
 * 308 keeps a method that is not GET or HEAD as it is (RFC 9110, section 15.4.9);
 * 301 is what every crawler has known for ever.
 */
function sendToHttps(req: EdgeRequest, res: EdgeResponse, { name }: EdgeDomain): NoVerdict {
  const safe = req.method === 'GET' || req.method === 'HEAD'
  // A body that nobody reads would be taken for the next request.
  if (!req.complete && !safe) res.shouldKeepAlive = false
  const location = `https://${name}${req.url?.startsWith('/') ? req.url : '/'}`
  // Kept for minutes, so that the owner can think again.
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', 'max-age=300']
  headers.push('X-Prepaint', 'none; https', 'X-Request-Id', requestIdOf(req))
  res.writeHead(safe ? 301 : 308, headers)
  res.end()
  return 'none; https'
}
