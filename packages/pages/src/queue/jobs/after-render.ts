import { STORED } from '@prepaint/contract/outcome/job.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { factsForSitemap, type NotedPage, notePageGone, notePages } from '../../site-files/page-facts.ts'
import type { BodyStore } from '../../store/bodies/body-store.ts'
import { Digester } from '../../store/page-digests.ts'
import { detailOf, type Found } from '../judging/effect.ts'
import type { SiteWatch } from '../judging/prober.ts'
import { RecordKeeper } from '../judging/render-records.ts'
import type { ClaimedJob } from './claim.ts'
import type { Completion } from './complete.ts'
import type { JobRun } from './run-job.ts'

/** The work after a job ends and its crawlers are answered: log line, due probe, render record, page digest. */
export class AfterRender {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #log: Log
  readonly #sites: SiteWatch | undefined
  readonly #digester: Digester
  readonly #records: RecordKeeper
  readonly #notePage
  readonly #pending = new Set<Promise<void>>()

  /** Without `sites`, nothing is learnt about sites: they are not probed for soft 404s. */
  constructor(pool: pg.Pool, bodies: BodyStore, clock: Clock, log: Log, sites?: SiteWatch) {
    this.#pool = pool
    this.#clock = clock
    this.#log = log
    this.#sites = sites
    this.#digester = new Digester(pool, bodies, log)
    this.#records = new RecordKeeper(pool)
    this.#notePage = joined<NotedPage, void>((pages) => this.#notePages(pages), { most: 50, underWay: 1 })
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

  async #notePages(pages: readonly NotedPage[]): Promise<undefined> {
    await notePages(this.#pool, pages)
  }

  /** Notes what the generated sitemap and IndexNow need to know. Never rejects. */
  async #noteFacts(job: ClaimedJob, found: Found, outcome: string, isStored: boolean): Promise<void> {
    const { page, customDomain, query } = job
    try {
      if (isStored && found.kind === 'rendered' && !job.isProbe && page.variant === 'desktop') {
        const { reading, headers } = found.changed ?? found
        const address = { name: customDomain, path: page.path, query }
        const facts = factsForSitemap(reading, headers, address)
        await this.#notePage({ page, facts, nowMs: this.#clock.nowMs() })
      } else if (outcome === 'redirect' && page.variant === 'desktop') {
        await notePageGone(this.#pool, page, this.#clock.nowMs())
      }
    } catch (error) {
      this.#log.warn({ err: error, job: job.id }, 'the facts of a page could not be kept')
    }
  }

  async #follow(job: ClaimedJob, { startedMs, found, completion, record }: JobRun): Promise<void> {
    const { id, customDomain, page, priority, attempts, requestId } = job
    const storedMs = this.#clock.nowMs() - startedMs
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
      // The log leaves out what is undefined.
      requestId: requestId ?? undefined,
      state: completion.state,
      ms: storedMs,
    }
    this.#log.info(line, 'job')

    if (job.tried !== null) return
    const learnt = await this.#learn(job, found, completion)
    if (record === null) return
    const own = 'detail' in completion ? completion.detail : undefined
    const detail = (learnt ?? own ?? detailOf(found)) || null
    const explained = { outcome, detail, claimedMs: startedMs, storedMs, record }
    await this.#records
      .keep(job, explained)
      .catch((error: Error) =>
        this.#log.warn({ err: error, job: id }, 'the record of a render could not be stored'),
      )
  }

  /** Returns what the owner is told, if there is something. Never rejects. */
  async #learn(job: ClaimedJob, found: Found, completion: Completion): Promise<string | null> {
    try {
      return (await this.#sites?.after(job, found, completion, this.#clock.nowMs())) ?? null
    } catch (error) {
      this.#log.warn({ err: error, job: job.id }, 'a site could not be probed')
      return null
    }
  }
}
