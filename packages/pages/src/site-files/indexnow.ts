import { Readable } from 'node:stream'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { readOrigin } from '@prepaint/outbound'
import { type OriginPool, sendRequest } from '@prepaint/outbound/client'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { INDEXNOW_TASK } from './page-facts.ts'
import type { RobotsFiles } from './robots-files.ts'
import { isOpen } from './sitemap.ts'
import { redirectMapOf } from './stored-redirects.ts'

/** The protocol's limit of a batch. */
const BATCH = 10_000
/** Nothing else is sent for this long while a node sends. It is also the first pause after a failure. */
const SENDING_MS = 60_000
const HOUR_MS = 3_600_000
const RETRIED_MS = 24 * HOUR_MS
const SILENCE_MS = 20_000

type Changed = { path: string; untold_at: Date; is_covered: boolean }

/** `isOn` is false if telling was switched off since pages were noted, or if the domain is inactive. */
type Batch = {
  id: DomainId
  name: DomainName
  originUrl: string
  settings: unknown
  key: string
  isOn: boolean
  failingSince: Date | null
}

/**
 * Tells search engines of changed pages (indexnow.org): a task for each domain with such pages, asked for by the
 * statements that note them (`page-facts.ts`).
 *
 * `indexnow_state.next_at` is not the due time of the task, but the time before which nothing is sent, whoever asks: it
 * keeps the pauses of failures and of full batches. Nodes of version 0.2.0 claim domains by it, so the two never send at once.
 */
export class IndexNow implements TaskKind {
  readonly name = INDEXNOW_TASK
  readonly slots = 2
  readonly perAccount = 1
  readonly faultMessage = 'changed pages could not be told to search engines; it is tried again'
  readonly subjects = `
    select d.id as key, d.account_id, now() as due_at from domain d
     where exists (select from page_fact f where f.domain_id = d.id and f.untold_at is not null)`
  readonly #pool: pg.Pool
  readonly #url: string
  readonly #origins: OriginPool
  readonly #robots: RobotsFiles
  readonly #clock: Clock
  readonly #log: Log

  /** `url` is the operator's endpoint. */
  constructor(pool: pg.Pool, url: string, origins: OriginPool, robots: RobotsFiles, clock: Clock, log: Log) {
    this.#pool = pool
    this.#url = url
    this.#origins = origins
    this.#robots = robots
    this.#clock = clock
    this.#log = log
  }

  async run({ key }: Task): Promise<number | null> {
    const domain = Number(key) as DomainId
    const nowMs = this.#clock.nowMs()
    const batch = await this.#begin(domain, nowMs)
    if (batch === null) return this.#msUntilNext(domain, nowMs)
    const { rows } = await this.#pool.query<Changed>(
      `select path, untold_at, is_covered from page_fact
        where domain_id = $1 and untold_at is not null order by untold_at, path limit $2`,
      [domain, BATCH + 1],
    )
    const changed = rows.slice(0, BATCH)
    const urlList = batch.isOn ? await this.#urlsOf(batch, changed) : []
    const isSent = urlList.length > 0
    const status = isSent ? await this.#post(batch, urlList).catch(() => null) : null
    const failingMs = nowMs - (batch.failingSince?.getTime() ?? nowMs)
    const isFailing = isSent && (status === null || status === 429 || status >= 500)
    const isRetried = isFailing && failingMs < RETRIED_MS
    if (isRetried) this.#log.debug({ domain, status }, 'search engines took no changed pages')
    else await forget(this.#pool, domain, changed)
    let pauseMs = 0
    if (isRetried) pauseMs = Math.min(HOUR_MS, SENDING_MS + failingMs)
    else if (rows.length > BATCH) pauseMs = HOUR_MS
    await this.#pool.query(
      `update indexnow_state set next_at = $2, failing_since = case when $3 then coalesce(failing_since, $4) end,
              status = case when $5 then $6 else status end, sent_at = case when $5 then $4 else sent_at end
        where domain_id = $1`,
      [domain, new Date(nowMs + pauseMs), isRetried, new Date(nowMs), isSent, status],
    )
    return pauseMs === 0 ? null : pauseMs
  }

  /** Returns null if it is too early, or if the domain is gone. */
  async #begin(domain: DomainId, nowMs: number): Promise<Batch | null> {
    const { rows } = await this.#pool.query<Batch>({
      name: 'indexnow-begin',
      text: `with begun as (
         insert into indexnow_state as known (domain_id, next_at) select id, $3 from domain where id = $1
         on conflict (domain_id) do update set next_at = excluded.next_at where known.next_at <= $2
         returning domain_id, failing_since)
       select d.id, d.custom_domain as name, d.origin_url as "originUrl", d.settings, d.indexnow_key as key,
              d.is_active and a.suspended_at is null and d.indexnow_key is not null
                and d.settings->'indexnow' = 'true' as "isOn", b.failing_since as "failingSince"
         from begun b join domain d on d.id = b.domain_id join account a on a.id = d.account_id`,
      values: [domain, new Date(nowMs), new Date(nowMs + SENDING_MS)],
    })
    return rows[0] ?? null
  }

  async #msUntilNext(domain: DomainId, nowMs: number): Promise<number | null> {
    const { rows } = await this.#pool.query<{ next_at: Date }>(
      'select next_at from indexnow_state where domain_id = $1',
      [domain],
    )
    return rows[0] === undefined ? null : Math.max(1_000, rows[0].next_at.getTime() - nowMs)
  }

  /** Returns the addresses of changed pages, without those that no sitemap would list and none has listed. */
  async #urlsOf(batch: Batch, changed: readonly Changed[]): Promise<string[]> {
    const settings = readDomainSettings(batch.settings)
    const redirects = await redirectMapOf(this.#pool, batch.id)
    const robots = await this.#robots.rules(await this.#robots.siteOf({ ...batch, settings }))
    const rules = new RuleBook(settings.rules)
    const listed = changed.filter(({ path, is_covered: isCovered }) =>
      isOpen(path, { robots, rules, redirects: isCovered ? null : redirects }),
    )
    return listed.map(({ path }) => `https://${batch.name}${path}`)
  }

  async #post({ name, key }: Batch, urlList: string[]): Promise<number> {
    const { origin: base, pathname, search } = new URL(this.#url)
    const origin = readOrigin(base, 'own')
    const batch = { host: name, key, keyLocation: `https://${name}/${key}.txt`, urlList }
    const content = Buffer.from(JSON.stringify(batch))
    const headers = ['Host', origin.authority, 'User-Agent', 'Prepaint', 'Accept', '*/*']
    headers.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', `${content.length}`)
    const { statusCode, body } = await sendRequest(this.#origins, origin, {
      method: 'POST',
      path: `${pathname}${search}`,
      headers,
      silenceMs: SILENCE_MS,
      body: { framing: { bytes: content.length }, content: Readable.from([content]) },
      signal: AbortSignal.timeout(SILENCE_MS),
    }).response
    body.destroy()
    return statusCode
  }
}

/** Forgets pages that were told. Those that changed again meanwhile are told again. */
async function forget(pool: pg.Pool, domain: DomainId, changed: readonly Changed[]): Promise<void> {
  await pool.query(
    `with told as (
       select f.path from page_fact f join json_to_recordset($2) as sent (path text, untold_at timestamptz) using (path)
        where f.domain_id = $1 and f.untold_at < sent.untold_at + interval '1 millisecond'
        order by f.path for update of f)
     update page_fact f set untold_at = null, is_covered = false from told
      where f.domain_id = $1 and f.path = told.path`,
    [domain, JSON.stringify(changed)],
  )
}

/** `status` is null if there was no answer, or if nothing was sent yet. */
export async function readIndexNow(
  db: Queryable,
  domain: DomainId,
): Promise<{ waiting: number; sent_at: string | null; status: number | null }> {
  const { rows } = await db.query<{ waiting: number; sent_at: Date | null; status: number | null }>(
    `select (select count(*)::int from page_fact where domain_id = $1 and untold_at is not null) as waiting, s.sent_at, s.status
       from (select $1::integer as id) asked left join indexnow_state s on s.domain_id = asked.id`,
    [domain],
  )
  const { waiting, sent_at, status } = rows[0]!
  return { waiting, status, sent_at: sent_at?.toISOString() ?? null }
}
