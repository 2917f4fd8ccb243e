import type { Log } from '../../log.ts'
import { storedLocation } from '../../outbound/headers.ts'
import type { PageCache } from '../../store/page-cache.ts'
import type { FrontOf, Pass } from '../origin/pass.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { Served } from '../page/prepared-page.ts'
import { type ServedVerdict, servePage, serveRedirect, stampOf } from '../page/send-page.ts'
import type { Sitemaps } from '../page/send-sitemap.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { PageTarget } from './target.ts'
import { type NoVerdict, type PassReason, passVerdict, type Verdict } from './verdict.ts'

/** A crawler's request for a page, once that is known. */
export type Exchange = {
  req: EdgeRequest
  res: EdgeResponse
  domain: EdgeDomain
  target: PageTarget
  nowMs: number
}

type EndingDeps = {
  log: Log
  pages: Pick<PageCache<Served>, 'grown'>
  sitemaps: Pick<Sitemaps, 'serve'>
  pass: Pass
  /** How the client sees the site: behind a proxy or a door, not as he sees us. */
  frontOf: FrontOf
}

/** The ways a live request can end, each with the verdict that it sends. `demand` hears of what was served. */
export function createEndings(
  { log, pages, sitemaps, pass: passOn, frontOf }: EndingDeps,
  demand: { served(e: Exchange, entry: Served): void },
) {
  /** A page or redirect of ours, in the encoding that is asked for. */
  function serve(exchange: Exchange, entry: Served, verdict: ServedVerdict): Verdict | Promise<Verdict> {
    const { req, res, domain, target, nowMs } = exchange
    demand.served(exchange, entry)
    const stamp = stampOf(entry, target.lifetimes, nowMs, verdict)
    const unservable = (error: unknown): Verdict => {
      log.error({ err: error, domain: domain.name, path: target.page.path }, 'a stored page cannot be served')
      return pass(req, res, domain, 'unservable')
    }
    try {
      if (entry.kind === 'redirect') {
        const location = storedLocation(entry.location, req.url ?? '/', frontOf(req, domain), domain)
        serveRedirect(res, entry, location, stamp)
        return verdict
      }
      const making = servePage(req, res, entry, stamp)
      return making === undefined ? verdict : making.then(grown, unservable)
    } catch (error) {
      return unservable(error)
    }

    function grown(): Verdict {
      pages.grown(target.page, entry)
      return verdict
    }
  }

  /** The origin's answer. */
  function pass(req: EdgeRequest, res: EdgeResponse, domain: EdgeDomain, why: PassReason): Verdict {
    req.askedOf = domain
    const verdict = passVerdict(why)
    if (!res.destroyed) passOn(req, res, domain, verdict)
    return verdict
  }

  /** From the sitemap cache, else the origin's. */
  async function sitemap({ req, res, domain, target }: Exchange): Promise<Verdict> {
    req.askedOf = domain
    return (await sitemaps.serve(req, res, domain, target.page)) ?? pass(req, res, domain, 'sitemap')
  }

  /** A page of ours: there is no origin to pass to. */
  function none(res: EdgeResponse, page: 'bad-request' | 'unknown-host'): NoVerdict {
    // What follows on this connection may not be what its sender calls a request.
    if (page === 'bad-request') res.shouldKeepAlive = false
    sendPlainPage(res, page, `none; ${page}`)
    return `none; ${page}`
  }

  return { serve, pass, sitemap, none }
}
