import { STORED } from '@prepaint/contract/outcome/job.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { factsForSitemap, type NotedPage, notePageGone, notePages } from '../../site-files/page-facts.ts'
import { createDigester } from '../../store/page-digests.ts'
import { detailOf } from '../judging/effect.ts'
import type { Prober } from '../judging/prober.ts'
import { createRecordKeeper } from '../judging/render-records.ts'
import type { ClaimedJob } from './claim.ts'
import type { JobRun } from './run-job.ts'

type AfterRenderOptions = {
  pool: pg.Pool
  /** Absent: sites are not probed for soft 404s. */
  prober?: Prober | undefined
  clock: Clock
  log: Log
}

/** The work after a job ends and its crawlers are answered: log line, due probe, render record, page digest. */
export class AfterRender {
  readonly #options: AfterRenderOptions
  readonly #digester
  readonly #keepRecord
  readonly #notePage
  readonly #pending = new Set<Promise<void>>()

  constructor(options: AfterRenderOptions) {
    this.#options = options
    this.#digester = createDigester(options)
    this.#keepRecord = createRecordKeeper(options.pool)
    const note = async (pages: readonly NotedPage[]) => {
      await notePages(options.pool, pages)
      return undefined
    }
    this.#notePage = joined<NotedPage, void>(note, { most: 50, underWay: 1 })
  }

  follow(job: ClaimedJob, run: JobRun): Promise<void> {
    const following = this.#follow(job, run).finally(() => this.#pending.delete(following))
    this.#pending.add(following)
    return following
  }

  get pending(): ReadonlySet<Promise<void>> {
    return this.#pending
  }

  async close(): Promise<void> {
    await this.#digester.close()
  }

  /** For the generated sitemap and IndexNow. Never rejects. */
  async #noteFacts(
    job: ClaimedJob,
    found: JobRun['found'],
    outcome: string,
    isStored: boolean,
  ): Promise<void> {
    const { pool, clock, log } = this.#options
    const { page, customDomain, query } = job
    try {
      if (isStored && found.kind === 'rendered' && !job.isProbe && page.variant === 'desktop') {
        const { reading, headers } = found.changed ?? found
        const address = { name: customDomain, path: page.path, query }
        const facts = factsForSitemap(reading, headers, address)
        await this.#notePage({ page, facts, nowMs: clock.nowMs() })
      } else if (outcome === 'redirect' && page.variant === 'desktop')
        await notePageGone(pool, page, clock.nowMs())
    } catch (error) {
      log.warn({ err: error, job: job.id }, 'the facts of a page could not be kept')
    }
  }

  async #follow(job: ClaimedJob, { startedMs, found, completion, record }: JobRun): Promise<void> {
    const { prober, clock, log } = this.#options
    const { id, customDomain, page, priority, attempts, requestId } = job
    const storedMs = clock.nowMs() - startedMs
    const outcome = 'outcome' in completion ? completion.outcome : found.kind
    const isStored = completion.state === 'done' && STORED.includes(completion.outcome)
    if (isStored && found.kind === 'rendered')
      this.#digester.note({ ...job, html: (found.changed ?? found).html })

    await this.#noteFacts(job, found, outcome, isStored)

    const line = {
      job: id,
      domain: customDomain,
      path: page.path,
      variant: page.variant,
      priority,
      attempts,
      outcome,
    }
    log.info(
      { ...line, ...(requestId !== null && { requestId }), state: completion.state, ms: storedMs },
      'job',
    )

    if (job.tried !== null) return
    const learnt = await prober?.after(job, found, completion, clock.nowMs()).catch((error: Error) => {
      log.warn({ err: error, job: id }, 'a site could not be probed')
      return null
    })
    if (record === null) return
    const own = 'detail' in completion ? completion.detail : undefined
    const detail = (learnt ?? own ?? detailOf(found)) || null
    const explained = { outcome, detail, claimedMs: startedMs, storedMs, record }
    await this.#keepRecord(job, explained).catch((error: Error) =>
      log.warn({ err: error, job: id }, 'the record of a render could not be stored'),
    )
  }
}
