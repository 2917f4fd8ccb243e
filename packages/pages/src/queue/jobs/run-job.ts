import { setTimeout as sleep } from 'node:timers/promises'
import type { PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Rendering, RenderRecord } from '@prepaint/contract/outcome/record.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import { errorCode } from '@prepaint/postgres/connection.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { ChosenRule } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { overQuota } from '../../quota.ts'
import { compareDevices } from '../judging/compare-devices.ts'
import type { Found } from '../judging/effect.ts'
import { probeSite } from '../judging/prober.ts'
import { type Draw, type DrawTried, type RenderTried, tryRules } from '../tries/try-rules.ts'
import type { ClaimedJob } from './claim.ts'
import type { Complete, Completion } from './complete.ts'

export type JobRun = { startedMs: number; found: Found; completion: Completion; record: RenderRecord | null }

export type RunJobOptions = {
  pool: pg.Pool
  render(request: RenderRequest): Promise<Rendering>
  complete: Complete
  /** Absent: tries of rules have no pictures. */
  draw?: Draw
  openHeaders?: OpenOriginHeaders
  plans: PlanCatalogue
  clock: Clock
  log: Log
  leaseMs: number
}

/** Never rejects. */
export async function runJob(
  options: RunJobOptions,
  job: ClaimedJob,
  abort: AbortController,
): Promise<JobRun> {
  const startedMs = options.clock.nowMs()
  const { found, record } = await renderJob(options, job, abort)
  const completion = await storeResult(options, job, found, abort.signal)
  return { startedMs, found, completion, record }
}

async function renderJob(
  { pool, render, draw, openHeaders, plans, clock, log }: RunJobOptions,
  job: ClaimedJob,
  abort: AbortController,
): Promise<{ found: Found; record: RenderRecord | null }> {
  const { account, customDomain, originUrl, visitor, captureByMs } = job
  const originHeaders = openHeaders?.(job.page.domain, job.sealedHeaders, 'renders')
  const withoutBrowser = job.lead !== job.id
  const toRender = {
    account,
    customDomain,
    originUrl,
    originHeaders,
    captureByMs,
    withoutBrowser,
    signal: abort.signal,
  }
  let record: RenderRecord | null = null
  const renderOne = async (path: PagePath, rule = job.rule, variant = job.page.variant) => {
    const wanted = visitorFor(variant, visitor, rule?.rule)
    const request = { ...toRender, path, visitor: wanted, ...underRule(rule) }
    const rendered = await renderWithLimit(render, request, abort)
    record = rendered.record
    return rendered.outcome
  }
  const find = async (): Promise<Found> => {
    // Owners try rules on domains without traffic too, and for nothing.
    if (job.tried !== null) return tryRules(job.tried, renderTried, drawTried)
    if (!job.isActive) return { kind: 'domain-inactive' }
    const limit = planNamed(plans, job.plan).monthly_render_limit
    if (overQuota({ used: job.rendersUsed, limit })) return { kind: 'over-quota' }
    return job.isProbe ? probeSite(job, renderOne) : renderSpelling(job, renderOne)
  }
  const renderDesktop = () =>
    renderSpelling(job, (spelling) => renderOne(spelling, job.desktopRule, 'desktop'))
  const compareWith = (found: Found) =>
    compareDevices(pool, job, found, renderDesktop).catch((error: Error) =>
      log.warn({ err: error, job: job.id }, 'the pages for desktops and phones could not be compared'),
    )
  const renderTried: RenderTried = async ({ path, variant }, rule) => {
    const beganMs = clock.nowMs()
    const address = { ...job, page: pageId(job.page.domain, path), spelling: path }
    const outcome = await renderSpelling(address, (spelling) => renderOne(spelling, rule, variant))
    return { outcome, ms: clock.nowMs() - beganMs, requests: record?.requests.made ?? 0 }
  }
  const drawTried: DrawTried = async ({ status, html }, rule) => {
    const { path, variant } = job.tried!
    const seenBy = visitorFor(variant, visitor, rule?.rule)
    const page = { customDomain, originUrl, originHeaders, path, visitor: seenBy, given: { status, html } }
    return draw === undefined ? null : (await draw({ ...page, signal: abort.signal })).picture
  }
  try {
    const found = await find()
    const kept = record
    if (job.isCompared && job.page.variant === 'mobile') await compareWith(found)
    return { found, record: kept }
  } catch (error) {
    log.error({ err: error, job: job.id }, 'the renderer failed')
    return { found: { kind: 'crashed', reason: 'the renderer failed' }, record }
  }
}

function underRule(found: ChosenRule | null): Pick<RenderRequest, 'rule' | 'block'> {
  const { render = {}, change } = found?.rule ?? {}
  const { wait_for: waitFor, wait_ms: waitMs, block } = render
  if (found === null || found.effect === '') return {}
  return { rule: { index: found.index, waitFor, waitMs, change }, block }
}

const RETRY_MS = 500

/** Retries for `leaseMs` while the database fails: the job may still be this node's. */
async function storeResult(
  { complete, log, leaseMs }: RunJobOptions,
  job: ClaimedJob,
  found: Found,
  signal: AbortSignal,
): Promise<Completion> {
  let result = found
  for (let waitedMs = 0; waitedMs <= leaseMs; waitedMs += RETRY_MS) {
    try {
      return await complete(job, result)
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

export const SPELLINGS_LIMIT = 3

type PageAddress = Pick<ClaimedJob, 'customDomain' | 'page' | 'query' | 'spelling'>

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
