import {
  type AutomaticClient,
  type Handled,
  handledAs,
  type PassReason,
  passVerdict,
  type Verdict,
} from '@prepaint/contract/outcome/verdict.ts'
import { freshnessOf } from '@prepaint/contract/page/freshness.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import { storedLocation } from '@prepaint/outbound/headers'
import { toOriginForm } from '@prepaint/runtime/http/origin-form.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { OwnCrawlers } from '../crawlers/crawler-test.ts'
import type { FrontOf, Pass, PassWatch, SendOwn } from '../origin/pass.ts'
import type { PageForms } from '../page/page-forms.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { Served } from '../page/prepared-page.ts'
import { type ServedVerdict, sendPageAnswer, servePage, serveRedirect, stampOf } from '../page/send-page.ts'
import type { Sitemaps } from '../page/send-sitemap.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from '../server/exchange.ts'
import { refusalOf, sendRefusal } from './crawler-policy.ts'
import { type Asking, askingOf, decide } from './decide.ts'
import { DomainUnavailable, type EdgeDomain } from './domain.ts'
import type { InstallationChecks } from './installation-checks.ts'
import type { LiveRenders } from './live-render.ts'
import { NO_DATABASE, type OwnAnswers } from './own-answers.ts'
import { answerHit, type HitParts, handledHit, readyHit } from './ready-hit.ts'
import type { MissingTarget, PageTarget, Target } from './target.ts'

export type HandlerParts = HitParts & {
  log: Log
  sitemaps: Sitemaps
  ownAnswers: OwnAnswers
  installationChecks: InstallationChecks
  liveRenders: LiveRenders
  forms: PageForms
}

/** The way by which requests come: from clients, or from a site's own front (`integrations.ts`). */
export type Entrance = {
  /** Returns null for a person or a tool. */
  categoryOf(userAgent: string | undefined, own: OwnCrawlers | null): CrawlerCategory | null
  /** Returns null for a crawler and for a person. */
  automaticOf(userAgent: string | undefined, own: OwnCrawlers | null): AutomaticClient | null
  isInsecure(req: RequestHead, domain: EdgeDomain): boolean
  /** A forged crawler gets stored pages only and causes no render. Never rejects. */
  isForged(req: RequestHead, domain: EdgeDomain): boolean | Promise<boolean>
  frontOf: FrontOf
  pass: Pass
  sendOwn: SendOwn
  /** Redirects and site files are not served at a site's own front, which sees people too. */
  servesOwnAnswers: boolean
}

/** A stored page, or null if there is none. */
type FoundPage = Served | null | 'unreadable'

type Exchange = {
  req: EdgeRequest
  res: EdgeResponse
  domain: EdgeDomain
  asking: Asking
  target: PageTarget
  nowMs: number
}

export class EdgeHandler {
  readonly #parts: HandlerParts
  readonly #entrance: Entrance

  constructor(parts: HandlerParts, entrance: Entrance) {
    this.#parts = parts
    this.#entrance = entrance
  }

  /** Never throws. */
  handle(req: EdgeRequest, res: EdgeResponse): void {
    const { log, report, requestIds } = this.#parts
    requestIds.assign(req)
    const started = report.now()
    this.#answer(req, res).then(
      (handled) => report.endWhenSent(req, res, started, handled),
      (error: Error) => {
        if (error instanceof DomainUnavailable) {
          // Not 404: the host may be registered.
          sendPlainPage(res, 'unknown-for-now', 'none; database')
          report.endWhenSent(req, res, started, handledAs('none; database'))
          return
        }
        log.error({ err: error, host: req.headers.host, url: req.url }, 'a live request failed')
        this.#entrance.sendOwn(res, 'unavailable', 'none; fault')
        report.endWhenSent(req, res, started, handledAs('none; fault'))
      },
    )
  }

  /** The whole order of decisions: every outcome is a `return`. */
  async #answer(req: EdgeRequest, res: EdgeResponse): Promise<Handled> {
    const { domains, targets, clock, sitemaps, liveRenders, recorder } = this.#parts
    if (!toOriginForm(req)) return this.#refuse(res, 'bad-request')
    const hit = readyHit(this.#parts, this.#entrance, req)
    if (hit !== null) {
      sendPageAnswer(res, answerHit(this.#parts, req, hit))
      return handledHit(hit)
    }

    const found = domains.find(req.headers.host ?? '')
    const domain = found instanceof Promise ? await found : found
    if (domain === null) return this.#refuse(res, 'unknown-host')
    if (await this.#parts.installationChecks.answer(req, res, domain)) return handledAs('none; check')
    if (this.#entrance.isInsecure(req, domain)) return redirectToHttps(req, res, domain)

    const crawler = this.#entrance.categoryOf(req.headers['user-agent'], domain.crawlers)
    const asking = askingOf(req, crawler, domain)
    const meant = targets.of(domain, req.url ?? '/', asking.as, req.headers['user-agent'])
    let watch: PassWatch | undefined
    if (meant.own !== null && this.#entrance.servesOwnAnswers) {
      const sent = await this.#parts.ownAnswers.send(req, res, domain, meant.own)
      if (typeof sent === 'string') return { verdict: sent, domain, page: null, crawler }
      if (sent === NO_DATABASE && crawler !== null) return this.#pass(req, res, domain, crawler, 'database')
      if (sent !== NO_DATABASE) watch = sent ?? undefined
    }
    const refusal = refusalOf(domain, crawler, { url: req.url ?? '/', target: meant })
    if (refusal !== null && !(await this.#isSitemap(domain, meant))) {
      return { verdict: sendRefusal(req, res, domain, refusal), domain, page: null, crawler }
    }
    const target = decide(req, asking, domain, meant)
    if (target.kind === 'pass') return this.#pass(req, res, domain, crawler, target.why, { watch })

    if (target.kind === 'missing') return this.#missing(req, res, { domain, asking, target })
    const exchange = { req, res, domain, asking, target, nowMs: clock.nowMs() }
    if (target.kind === 'sitemap') return this.#sitemap(exchange)
    if (target.kind === 'xml') {
      if (await sitemaps.isNamed(domain, target.page.path)) return this.#sitemap(exchange)
      return this.#pass(req, res, domain, crawler, 'asset')
    }

    const stored = target.isKept ? await this.#storedFor(target) : null
    if (stored === 'unreadable') return this.#pass(req, res, domain, crawler, 'database')
    const freshness = stored === null ? 'gone' : freshnessOf(stored, target.lifetimes, exchange.nowMs)
    if (stored !== null && freshness === 'fresh') return this.#serve(exchange, stored, 'hit')
    if (stored !== null && freshness === 'stale') {
      recorder.refresh(domain, target, exchange.nowMs, () => this.#entrance.isForged(req, domain))
      return this.#serve(exchange, stored, 'stale')
    }

    if (await sitemaps.isNamed(domain, target.page.path)) return this.#sitemap(exchange)
    if (await this.#entrance.isForged(req, domain)) return this.#pass(req, res, domain, crawler, 'forged')
    const rendered = await liveRenders.render(domain, target.page, res, {
      ...target,
      crawler: domain.rules.tellsCrawlersApart ? asking.as : null,
    })
    if (typeof rendered !== 'string') return this.#serve(exchange, rendered, 'rendered')
    // Over 120 % of the quota requests are passed; kept pages are for failures.
    if (stored !== null && freshness === 'kept' && rendered !== 'over-quota') {
      return this.#serve(exchange, stored, 'stale')
    }
    const desktop = target.page.variant === 'mobile' ? await this.#desktopFor(exchange, rendered) : null
    if (desktop !== null) return this.#serve(exchange, desktop.page, desktop.verdict)
    // Do not warm missing pages.
    if (rendered !== 'soft-404') recorder.known(target, exchange.nowMs)
    return this.#pass(req, res, domain, crawler, rendered, { waitedMs: clock.nowMs() - exchange.nowMs })
  }

  /** Finds the desktop page for a phone whose page could not be rendered. */
  async #desktopFor(
    { target, nowMs }: Exchange,
    why: PassReason,
  ): Promise<{ page: Served; verdict: 'hit' | 'stale' } | null> {
    if (!target.isKept) return null
    const page = await this.#storedFor({ ...target, page: pageId(target.page.domain, target.page.path) })
    if (page === null || page === 'unreadable') return null
    const freshness = freshnessOf(page, target.lifetimes, nowMs)
    if (freshness === 'gone' || (freshness === 'kept' && why === 'over-quota')) return null
    return { page, verdict: freshness === 'fresh' ? 'hit' : 'stale' }
  }

  /** Returns at once what is in memory. Returns null also for a page that another rule made, for other crawlers. */
  #storedFor(target: PageTarget): FoundPage | Promise<FoundPage> {
    const ownOnly = (found: FoundPage) => {
      if (found === null || found === 'unreadable' || found.kind !== 'page') return found
      return target.otherEffects.has(found.effect) ? null : found
    }
    const read = this.#findStored(target)
    return read instanceof Promise ? read.then(ownOnly) : ownOnly(read)
  }

  /** 404 or 410 by the owner's rule, with the text of the stored page if there is one. */
  async #missing(
    req: EdgeRequest,
    res: EdgeResponse,
    { domain, asking, target }: { domain: EdgeDomain; asking: Asking; target: MissingTarget },
  ): Promise<Handled> {
    const { status, page, lifetimes } = target
    const handled: Handled = { verdict: 'rule', domain, page, crawler: asking.crawler }
    const stored = await this.#findStored(target)
    const nowMs = this.#parts.clock.nowMs()
    const isUsable =
      stored !== null && stored !== 'unreadable' && freshnessOf(stored, lifetimes, nowMs) !== 'gone'
    if (isUsable && stored.kind === 'page') {
      try {
        const id = pageId(domain.id, page.path, stored.variant)
        const form = await this.#parts.forms.find(domain, id, stored, asking.form)
        const given = {
          page: { ...stored, status },
          form: form === 'own-markdown' || form === 'database' ? 'html' : form,
          path: page.path,
        }
        const stamp = stampOf(stored, lifetimes, nowMs, 'rule')
        await servePage(req, res, given, stamp, { ...domain, usage: null })
        return handled
      } catch (error) {
        const where = { domain: domain.name, path: page.path }
        this.#parts.log.error({ err: error, ...where }, 'a stored page cannot be served')
      }
    }
    sendPlainPage(res, status === 404 ? 'not-found' : 'gone', 'rule')
    return handled
  }

  /** Returns at once what is in memory. Never rejects. */
  #findStored({ page }: PageTarget | MissingTarget): Served | Promise<Served | null | 'unreadable'> {
    const read = this.#parts.pages.find(page)
    if (!(read instanceof Promise)) return read
    return read.catch((error: Error) => {
      this.#parts.log.error({ err: error }, 'the page store could not be read')
      return 'unreadable' as const
    })
  }

  async #serve(exchange: Exchange, entry: Served, verdict: ServedVerdict): Promise<Handled> {
    const { req, res, domain, asking, target, nowMs } = exchange
    const { crawler } = asking
    const { recorder, pages, log } = this.#parts
    recorder.served({ target, category: crawler, userAgent: req.headers['user-agent'] ?? '', nowMs }, entry)
    const stamp = stampOf(entry, target.lifetimes, nowMs, verdict)
    try {
      if (entry.kind === 'redirect') {
        const front = this.#entrance.frontOf(req, domain)
        const location = storedLocation(entry.location, req.url ?? '/', front, domain)
        serveRedirect(res, entry, location, stamp, domain)
        return { verdict, domain, page: target.page, crawler }
      }
      const id = pageId(domain.id, target.page.path, entry.variant)
      const form = await this.#parts.forms.find(domain, id, entry, asking.form)
      if (form === 'own-markdown' || form === 'database') {
        return this.#pass(req, res, domain, crawler, form)
      }
      const encoding = servePage(req, res, { page: entry, form, path: target.page.path }, stamp, domain)
      if (encoding !== undefined) {
        await encoding
        pages.grown(id, entry)
      }
      return { verdict, domain, page: id, crawler, form }
    } catch (error) {
      log.error({ err: error, domain: domain.name, path: target.page.path }, 'a stored page cannot be served')
      return { ...this.#pass(req, res, domain, crawler, 'unservable'), page: target.page }
    }
  }

  /** Returns whether the site names it as a sitemap. The origin is asked only for what looks like one. */
  #isSitemap(domain: EdgeDomain, target: Target): boolean | Promise<boolean> {
    const { sitemaps } = this.#parts
    if (target.kind === 'xml') return sitemaps.isNamed(domain, target.page.path)
    return target.kind === 'page' && sitemaps.isKnownAsNamed(domain, target.page.path)
  }

  #pass(
    req: EdgeRequest,
    res: EdgeResponse,
    domain: EdgeDomain,
    crawler: CrawlerCategory | null,
    why: PassReason,
    how: { watch?: PassWatch | undefined; waitedMs?: number } = {},
  ): Handled {
    const verdict = passVerdict(why)
    const { watch, waitedMs = 0 } = how
    const headWithinMs = crawler === null ? null : Math.max(domain.crawlerWaitMs - waitedMs, LAST_WAIT_MS)
    if (!res.destroyed) this.#entrance.pass(req, res, domain, verdict, { watch, headWithinMs })
    const handled: Handled = { verdict, domain, page: null, crawler }
    if (why === 'not-a-crawler') {
      const automatic = this.#entrance.automaticOf(req.headers['user-agent'], domain.crawlers)
      if (automatic !== null) handled.automatic = automatic
    }
    return handled
  }

  /** Answers a request that has no origin. */
  #refuse(res: EdgeResponse, page: 'bad-request' | 'unknown-host'): Handled {
    // The next bytes on this connection may not be a request.
    if (page === 'bad-request') res.shouldKeepAlive = false
    this.#entrance.sendOwn(res, page, `none; ${page}`)
    return handledAs(`none; ${page}`)
  }

  async #sitemap({ req, res, domain, asking: { crawler }, target }: Exchange): Promise<Handled> {
    const verdict: Verdict | null = await this.#parts.sitemaps.serve(req, res, domain, target.page)
    if (verdict === null) return this.#pass(req, res, domain, crawler, 'sitemap')
    return { verdict, domain, page: null, crawler }
  }
}

/** A crawler that waited its whole time for a render gets an origin that answers at once. */
const LAST_WAIT_MS = 1_000

/** Redirects. 308 preserves methods other than GET and HEAD (RFC 9110, section 15.4.9); every crawler knows 301. */
function redirectToHttps(req: EdgeRequest, res: EdgeResponse, { name }: EdgeDomain): Handled {
  const safe = req.method === 'GET' || req.method === 'HEAD'
  // An unread body would be parsed as the next request.
  if (!req.complete && !safe) res.shouldKeepAlive = false
  const location = `https://${name}${req.url?.startsWith('/') ? req.url : '/'}`
  // Cached for minutes only, because the owner may disable it.
  const headers = ['Location', location, 'Content-Length', '0', 'Cache-Control', 'max-age=300']
  headers.push('X-Prepaint', 'none; https', 'X-Request-Id', requestIdOf(req))
  res.writeHead(safe ? 301 : 308, headers)
  res.end()
  return handledAs('none; https')
}
