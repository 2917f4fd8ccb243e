import type { Form } from '@prepaint/contract/outcome/form.ts'
import {
  type AutomaticClient,
  type Handled,
  handledAs,
  type PassReason,
  passVerdict,
  type Verdict,
} from '@prepaint/contract/outcome/verdict.ts'
import { checkTokenOf } from '@prepaint/contract/page/check-token.ts'
import { freshnessOf } from '@prepaint/contract/page/freshness.ts'
import { type PageId, pageId } from '@prepaint/contract/page/page-id.ts'
import { proofMarkOf } from '@prepaint/contract/page/proof-mark.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import { storedLocation } from '@prepaint/outbound/headers'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import { toOriginForm } from '@prepaint/runtime/http/origin-form.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { OwnCrawlers } from '../crawlers/crawler-test.ts'
import type { FrontOf, Pass, PassWatch, SendOwn } from '../origin/pass.ts'
import type { FoundForm, PageForms } from '../page/page-forms.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { Served, ServedPage } from '../page/prepared-page.ts'
import { type ServedVerdict, sendPageAnswer, servePage, serveRedirect, stampOf } from '../page/send-page.ts'
import type { Sitemaps } from '../page/send-sitemap.ts'
import { type ClientBudgets, OverBudget } from '../server/client-budgets.ts'
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
  /** Returns whether the mark is of a check. Rejects if nobody can say. */
  receiveProofMark(mark: string): Promise<boolean>
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
  /** Is null for requests of fronts, which ask for all visitors. */
  budgets: ClientBudgets | null
}

/** Why a page cannot be read: PostgreSQL or the object store of bodies does not answer. */
type Unreadable = Extract<PassReason, 'database' | 'store'>

/** A stored page, or null if there is none. */
type FoundPage = Served | null | Unreadable

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

  /** Refuses a request that exceeds a limit of its client, which is told. Never throws. */
  refuseWithPage(req: EdgeRequest, res: EdgeResponse): void {
    const started = this.#begin(req)
    sendPlainPage(res, 'too-many-requests', 'none; too-many-requests')
    this.#parts.report.endWhenSent(req, res, started, handledAs('none; too-many-requests'))
  }

  /** Refuses a request that exceeds a budget of its client: in HTTP/2 by the end of the stream alone. Never throws. */
  refuseOverBudget(req: EdgeRequest, res: EdgeResponse): void {
    this.#refuseOverBudget(req, res, this.#begin(req))
  }

  #refuseOverBudget(req: EdgeRequest, res: EdgeResponse, started: number): void {
    if (res.refuse === undefined) sendPlainPage(res, 'too-many-requests', 'none; too-many-requests')
    else res.refuse()
    this.#parts.report.endWhenSent(req, res, started, handledAs('none; too-many-requests'))
  }

  /** Returns the time when the request began. */
  #begin(req: EdgeRequest): number {
    const { report, requestIds } = this.#parts
    requestIds.assign(req)
    return report.now()
  }

  /** Never throws. `isNoHit`: `readyHit` has found that this is no hit, and the server has read the request unambiguously. */
  handle(req: EdgeRequest, res: EdgeResponse, isNoHit = false): void {
    const { log, report } = this.#parts
    const started = this.#begin(req)
    this.#answer(req, res, isNoHit).then(
      (handled) => report.endWhenSent(req, res, started, handled),
      (error: Error) => {
        if (error instanceof OverBudget) {
          this.#refuseOverBudget(req, res, started)
          return
        }
        if (error instanceof Abandoned) {
          report.endWhenSent(req, res, started, handledAs('none; left'))
          return
        }
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
  async #answer(req: EdgeRequest, res: EdgeResponse, isNoHit: boolean): Promise<Handled> {
    const { domains, targets, clock, sitemaps, liveRenders, recorder } = this.#parts
    if (!isNoHit && !toOriginForm(req)) return this.#answerWithoutOrigin(res, 'bad-request')
    const hit = isNoHit ? null : readyHit(this.#parts, this.#entrance, req)
    if (hit !== null) {
      sendPageAnswer(res, answerHit(this.#parts, req, hit))
      return handledHit(hit)
    }

    const mark = proofMarkOf(req.headers)
    if (mark !== null && (await this.#isProofCheck(req, mark))) {
      return this.#answerWithoutOrigin(res, 'unknown-host')
    }
    const domain =
      domains.inMemory(req.headers.host ?? '') ??
      (await this.#during('lookups', req, () => domains.find(req.headers.host ?? '', res)))
    if (domain === null) return this.#answerWithoutOrigin(res, 'unknown-host')
    const isCheck = checkTokenOf(req.url ?? '') !== null
    if (isCheck && (await this.#parts.installationChecks.answer(req, res, domain))) {
      return handledAs('none; check')
    }
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

    const stored = target.isKept ? await this.#storedFor(target, req, res) : null
    if (typeof stored === 'string') return this.#pass(req, res, domain, crawler, stored)
    const freshness = stored === null ? 'gone' : freshnessOf(stored, target.lifetimes, exchange.nowMs)
    if (stored !== null && freshness === 'fresh') return this.#serve(exchange, stored, 'hit')
    if (stored !== null && freshness === 'stale') {
      recorder.refresh(domain, target, exchange.nowMs, () => this.#entrance.isForged(req, domain))
      return this.#serve(exchange, stored, 'stale')
    }

    if (res.destroyed) throw new Abandoned()
    if (await sitemaps.isNamed(domain, target.page.path)) return this.#sitemap(exchange)
    if (await this.#entrance.isForged(req, domain)) return this.#pass(req, res, domain, crawler, 'forged')
    if (res.destroyed) throw new Abandoned()
    const leave = this.#entrance.budgets?.take('misses', req)
    const rendered = await liveRenders.render(
      domain,
      target.page,
      res,
      { ...target, crawler: domain.rules.tellsCrawlersApart ? asking.as : null },
      leave,
    )
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
    { req, res, target, nowMs }: Exchange,
    why: PassReason,
  ): Promise<{ page: Served; verdict: 'hit' | 'stale' } | null> {
    if (!target.isKept) return null
    const desktop = { ...target, page: pageId(target.page.domain, target.page.path) }
    const page = await this.#storedFor(desktop, req, res)
    if (page === null || typeof page === 'string') return null
    const freshness = freshnessOf(page, target.lifetimes, nowMs)
    if (freshness === 'gone' || (freshness === 'kept' && why === 'over-quota')) return null
    return { page, verdict: freshness === 'fresh' ? 'hit' : 'stale' }
  }

  /** Returns at once what is in memory. Returns null also for a page that another rule made, for other crawlers. */
  #storedFor(target: PageTarget, req: EdgeRequest, res: EdgeResponse): FoundPage | Promise<FoundPage> {
    const ownOnly = (found: FoundPage) => {
      if (found === null || typeof found === 'string' || found.kind !== 'page') return found
      return target.otherEffects.has(found.effect) ? null : found
    }
    const read = this.#findStored(target, req, res)
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
    const stored = await this.#findStored(target, req, res)
    const nowMs = this.#parts.clock.nowMs()
    const isUsable =
      stored !== null && typeof stored !== 'string' && freshnessOf(stored, lifetimes, nowMs) !== 'gone'
    if (isUsable && stored.kind === 'page') {
      try {
        const id = pageId(domain.id, page.path, stored.variant)
        const form = await this.#formOf({ req, res, domain, asking }, id, stored)
        const given = {
          page: { ...stored, status },
          form: isPassed(form) ? 'html' : form,
          path: page.path,
        }
        const stamp = stampOf(stored, lifetimes, nowMs, 'rule')
        await servePage(req, res, given, stamp, { ...domain, usage: null })
        return handled
      } catch (error) {
        if (error instanceof OverBudget) throw error
        const where = { domain: domain.name, path: page.path }
        this.#parts.log.error({ err: error, ...where }, 'a stored page cannot be served')
      }
    }
    sendPlainPage(res, status === 404 ? 'not-found' : 'gone', 'rule')
    return handled
  }

  /** Returns at once what is in memory. Rejects with Abandoned if the client left before the read began. */
  #findStored(
    { page }: PageTarget | MissingTarget,
    req: EdgeRequest,
    res: EdgeResponse,
  ): Served | Promise<FoundPage> {
    const { pages } = this.#parts
    const inMemory = pages.inMemory(page)
    if (inMemory !== undefined) {
      pages.noteRead()
      return inMemory
    }
    return this.#during('lookups', req, () => pages.find(page, res)).catch((error: Error) => {
      if (error instanceof Abandoned || error instanceof OverBudget) throw error
      // Whoever asked the object store has logged why.
      if (error instanceof BodyUnavailable) return 'store'
      this.#parts.log.error({ err: error }, 'the page store could not be read')
      return 'database'
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
      const form = await this.#formOf(exchange, id, entry)
      if (isPassed(form)) {
        return this.#pass(req, res, domain, crawler, form)
      }
      const encoding = servePage(req, res, { page: entry, form, path: target.page.path }, stamp, domain)
      if (encoding !== undefined) {
        await encoding
        pages.grown(id, entry)
      }
      return { verdict, domain, page: id, crawler, form }
    } catch (error) {
      if (error instanceof OverBudget) throw error
      log.error({ err: error, domain: domain.name, path: target.page.path }, 'a stored page cannot be served')
      return { ...this.#pass(req, res, domain, crawler, 'unservable'), page: target.page }
    }
  }

  /** Rejects with OverBudget if the form is not in memory, and the client has its share of such places. */
  #formOf(
    { req, res, domain, asking }: Pick<Exchange, 'req' | 'res' | 'domain' | 'asking'>,
    id: PageId,
    entry: ServedPage,
  ): Promise<FoundForm> | Form {
    if (asking.form === 'html') return 'html'
    return this.#during('bodies', req, () => this.#parts.forms.find(domain, id, entry, asking.form, res))
  }

  /** Does work that the client has a place for. Rejects with OverBudget, and begins nothing, if it has none. */
  #during<T>(budget: 'lookups' | 'bodies', req: EdgeRequest, work: () => T | Promise<T>): Promise<T> {
    const { budgets } = this.#entrance
    return budgets === null ? Promise.resolve(work()) : budgets.during(budget, req, work)
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

  /**
   * Whether this installation asks for the proof of a name, and has found only itself. It must not answer for the site then,
   * also while the database cannot say which checks there are.
   */
  #isProofCheck(req: EdgeRequest, mark: string): Promise<boolean> {
    const { receiveProofMark, log } = this.#parts
    return this.#during('lookups', req, () =>
      receiveProofMark(mark).catch((error: Error) => {
        log.warn({ err: error, host: req.headers.host }, 'a check of a name could not be looked up')
        return true
      }),
    )
  }

  /** Answers a request that has no origin. */
  #answerWithoutOrigin(res: EdgeResponse, page: 'bad-request' | 'unknown-host'): Handled {
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

/** Whether the origin answers instead of the form. */
function isPassed(form: FoundForm): form is Exclude<FoundForm, Form> {
  return form === 'own-markdown' || form === 'database' || form === 'store'
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
