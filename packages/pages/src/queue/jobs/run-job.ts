import { setTimeout as sleep } from 'node:timers/promises'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { GivenPage, RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering, RenderRecord } from '@prepaint/contract/outcome/record.ts'
import { type PageId, type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath, type QueryRule } from '@prepaint/contract/page/path.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import { errorCode } from '@prepaint/postgres/connection.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { ChosenRule } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { overQuota } from '../../quota.ts'
import type { BodyStore } from '../../store/bodies/body-store.ts'
import { compareDevices } from '../judging/compare-devices.ts'
import type { Found } from '../judging/effect.ts'
import { probeSite } from '../judging/prober.ts'
import { type Draw, type RenderedTry, tryRules } from '../tries/try-rules.ts'
import type { ClaimedJob, TriedRules } from './claim.ts'
import type { Completion, JobCompleter } from './complete.ts'

export type JobRun = { startedMs: number; found: Found; completion: Completion; record: RenderRecord | null }

export type RunJobParts = {
  pool: pg.Pool
  render(request: RenderRequest): Promise<Rendering>
  completer: JobCompleter
  bodies: BodyStore
  /** Absent: tries of rules have no pictures. */
  draw?: Draw
  openHeaders?: OpenOriginHeaders
  plans: PlanCatalogue
  clock: Clock
  log: Log
  leaseMs: number
}

/** Renders a job and stores what was found. Never rejects. */
export async function runJob(parts: RunJobParts, job: ClaimedJob, abort: AbortController): Promise<JobRun> {
  const startedMs = parts.clock.nowMs()
  const { found, record } = await new JobRender(parts, job, abort).run()
  const completion = await storeResult(parts, job, found, abort.signal)
  return { startedMs, found, completion, record }
}

/** A claimed job in the renderer. */
class JobRender {
  readonly #parts: RunJobParts
  readonly #job: ClaimedJob
  readonly #abort: AbortController
  readonly #originHeaders: readonly string[] | undefined
  /** The record of the last render. */
  #record: RenderRecord | null = null

  constructor(parts: RunJobParts, job: ClaimedJob, abort: AbortController) {
    this.#parts = parts
    this.#job = job
    this.#abort = abort
    this.#originHeaders = parts.openHeaders?.(job.page.domain, job.sealedHeaders, 'renders')
  }

  /** Renders, and compares desktops and phones if the job asks for it. Never rejects. */
  async run(): Promise<{ found: Found; record: RenderRecord | null }> {
    const job = this.#job
    try {
      const found = await this.#find()
      const record = this.#record
      if (job.isCompared && job.page.variant === 'mobile') await this.#compareDevices(found)
      return { found, record }
    } catch (error) {
      this.#parts.log.error({ err: error, job: job.id }, 'the renderer failed')
      return { found: { kind: 'crashed', reason: 'the renderer failed' }, record: this.#record }
    }
  }

  async #find(): Promise<Found> {
    const job = this.#job
    // Owners try rules on domains without traffic too, and for nothing.
    if (job.tried !== null) return this.#tryRules(job.tried)
    if (!job.isActive) return { kind: 'domain-inactive' }
    const limit = planNamed(this.#parts.plans, job.plan).monthly_render_limit
    if (overQuota({ used: job.rendersUsed, limit })) return { kind: 'over-quota' }
    const render = (path: PagePath) => this.#renderOne(path, job.rule, job.page.variant)
    return job.isProbe ? probeSite(job, render) : renderSpelling(job, render)
  }

  async #renderOne(path: PagePath, rule: ChosenRule | null, variant: PageVariant): Promise<RenderOutcome> {
    const { account, customDomain, originUrl, captureByMs, visitor, lead, id } = this.#job
    const request: RenderRequest = {
      account,
      customDomain,
      originUrl,
      originHeaders: this.#originHeaders,
      captureByMs,
      withoutBrowser: lead !== id,
      signal: this.#abort.signal,
      path,
      visitor: visitorFor(variant, visitor, rule?.rule),
    }
    if (rule !== null && rule.effect !== '') applyRule(request, rule)
    const { outcome, record } = await renderWithLimit(this.#parts.render, request, this.#abort)
    this.#record = record
    return outcome
  }

  async #compareDevices(found: Found): Promise<void> {
    const job = this.#job
    const renderDesktop = () =>
      renderSpelling(job, (spelling) => this.#renderOne(spelling, job.desktopRule, 'desktop'))
    try {
      await compareDevices(this.#parts.pool, this.#parts.bodies, job, found, renderDesktop)
    } catch (error) {
      const reason = 'the pages for desktops and phones could not be compared'
      this.#parts.log.warn({ err: error, job: job.id }, reason)
    }
  }

  #tryRules(tried: TriedRules): Promise<Found> {
    return tryRules(
      tried,
      (rule) => this.#renderTried(tried, rule),
      (page, rule) => this.#drawTried(tried, page, rule),
    )
  }

  async #renderTried({ path, variant }: TriedRules, rule: ChosenRule | null): Promise<RenderedTry> {
    const { clock } = this.#parts
    const beganMs = clock.nowMs()
    const address = { ...this.#job, page: pageId(this.#job.page.domain, path), spelling: path }
    const outcome = await renderSpelling(address, (spelling) => this.#renderOne(spelling, rule, variant))
    return { outcome, ms: clock.nowMs() - beganMs, requests: this.#record?.requests.made ?? 0 }
  }

  async #drawTried(
    { path, variant }: TriedRules,
    { status, html }: GivenPage,
    rule: ChosenRule | null,
  ): Promise<Buffer | null> {
    const { draw } = this.#parts
    if (draw === undefined) return null
    const { customDomain, originUrl, visitor } = this.#job
    const { picture } = await draw({
      customDomain,
      originUrl,
      originHeaders: this.#originHeaders,
      path,
      visitor: visitorFor(variant, visitor, rule?.rule),
      given: { status, html },
      signal: this.#abort.signal,
    })
    return picture
  }
}

function applyRule(request: RenderRequest, { index, rule }: ChosenRule): void {
  const { wait_for: waitFor, wait_ms: waitMs, block } = rule.render ?? {}
  request.rule = { index, waitFor, waitMs, change: rule.change ?? {} }
  request.block = block
}

const RETRY_MS = 500

/** Retries for `leaseMs` while the database fails: the job may still be this node's. */
async function storeResult(
  { completer, log, leaseMs }: RunJobParts,
  job: ClaimedJob,
  found: Found,
  signal: AbortSignal,
): Promise<Completion> {
  let result = found
  for (let waitedMs = 0; waitedMs <= leaseMs; waitedMs += RETRY_MS) {
    try {
      return await completer.complete(job, result)
    } catch (error) {
      log.warn({ err: error, job: job.id }, 'the result of a job could not be stored')
      if (signal.aborted) break
      // Classes 22 and 23: the database would reject this content again.
      if (result.kind !== 'crashed' && /^2[23]/.test(errorCode(error))) {
        result = { kind: 'crashed', reason: 'the result could not be stored' }
        continue
      }
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }
  return { state: 'taken-away' }
}

/** Above every configurable render timeout: the renderer itself has failed. */
const RENDER_LIMIT_MS = 330_000

async function renderWithLimit(
  render: (request: RenderRequest) => Promise<Rendering>,
  request: RenderRequest,
  abort: AbortController,
): Promise<Rendering> {
  const { promise: tooLate, resolve } = Promise.withResolvers<Rendering>()
  const timer = setTimeout(() => {
    abort.abort()
    resolve({ outcome: { kind: 'crashed', reason: `no outcome within ${RENDER_LIMIT_MS} ms` }, record: null })
  }, RENDER_LIMIT_MS).unref()
  try {
    return await Promise.race([render(request), tooLate])
  } finally {
    clearTimeout(timer)
  }
}

/** After so many redirects to another spelling, the outcome is `redirect-loop`. */
export const SPELLINGS_LIMIT = 3

type PageAddress = { customDomain: DomainName; page: PageId; query: QueryRule; spelling: PagePath }

/**
 * Follows redirects to another spelling of the same stored path. All spellings share one entry: a crawler would
 * follow a stored redirect forever.
 */
export async function renderSpelling(
  address: PageAddress,
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Found> {
  let path = address.spelling
  for (let spelling = 1; ; spelling++) {
    const outcome = await render(path)
    const next = outcome.kind === 'redirect' ? sameSpelling(address, outcome.location) : null
    if (outcome.kind !== 'redirect' || next === null) return outcome
    if (spelling === SPELLINGS_LIMIT) return { kind: 'redirect-loop', location: outcome.location }
    path = next
  }
}

function sameSpelling({ customDomain, page, query }: PageAddress, location: string): PagePath | null {
  const url = URL.parse(location)
  if (url === null || url.hostname !== customDomain || url.port !== '') return null
  const spelling = url.pathname + url.search
  return normalisePath(spelling, query) === page.path ? (spelling as PagePath) : null
}
