import { Readable } from 'node:stream'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { RuleBook } from '@prepaint/contract/rules/rule-book.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { readOrigin } from '@prepaint/outbound'
import { type OriginPool, sendRequest } from '@prepaint/outbound/client'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { startWhileDue } from '@prepaint/runtime/while-due.ts'
import type pg from 'pg'
import type { RobotsFiles } from './robots-files.ts'
import { isOpen } from './sitemap.ts'
import { redirectMapOf } from './stored-redirects.ts'

/** The protocol's limit of a batch. */
const BATCH = 10_000
const GATHER_MS = 10_000
const LEASE_MS = 60_000
const HOUR_MS = 3_600_000
const RETRIED_MS = 24 * HOUR_MS
const POLL_MS = 2_000
const SILENCE_MS = 20_000

type Deps = {
  pool: pg.Pool
  /** The operator's endpoint. */
  url: string
  origins: OriginPool
  robots: RobotsFiles
  clock: Clock
  log: Log
}

/** Tells search engines of changed pages (indexnow.org). Nodes take different domains. */
export function startIndexNow(deps: Deps): { close(): Promise<void> } {
  return startWhileDue(
    POLL_MS,
    () => sendDue(deps),
    (error) =>
      deps.log.warn({ err: error }, 'changed pages could not be told to search engines; it is tried again'),
  )
}

type Changed = { path: string; untold_at: Date; is_covered: boolean }

/** False: no domain is due. */
export async function sendDue(deps: Deps): Promise<boolean> {
  const { pool, clock, log } = deps
  const nowMs = clock.nowMs()
  const due = await claimDue(pool, nowMs)
  if (due === undefined) return false
  const { id: domain, failingSince } = due
  const { rows } = await pool.query<Changed>(
    `select path, untold_at, is_covered from page_fact
      where domain_id = $1 and untold_at is not null order by untold_at, path limit $2`,
    [domain, BATCH + 1],
  )
  const changed = rows.slice(0, BATCH)
  const urlList = due.isOn ? await urlsOf(deps, due, changed) : []
  const isSent = urlList.length > 0
  const status = isSent ? await post(deps, due, urlList).catch(() => null) : null
  const failingMs = nowMs - (failingSince?.getTime() ?? nowMs)
  const isFailing = isSent && (status === null || status === 429 || status >= 500)
  const isRetried = isFailing && failingMs < RETRIED_MS
  if (isRetried) log.debug({ domain, status }, 'search engines took no changed pages')
  else await forget(pool, domain, changed)
  const pauseMs = isRetried ? Math.min(HOUR_MS, LEASE_MS + failingMs) : rows.length > BATCH ? HOUR_MS : 0
  await pool.query(
    `update indexnow_state set next_at = $2, failing_since = case when $3 then coalesce(failing_since, $4) end,
            status = case when $5 then $6 else status end, sent_at = case when $5 then $4 else sent_at end
      where domain_id = $1`,
    [domain, new Date(nowMs + pauseMs), isRetried, new Date(nowMs), isSent, status],
  )
  return true
}

/** `isOn` false: switched off since it was noted, or inactive. */
type Due = {
  id: DomainId
  name: DomainName
  originUrl: string
  settings: unknown
  key: string
  isOn: boolean
  failingSince: Date | null
}

async function claimDue(pool: pg.Pool, nowMs: number): Promise<Due | undefined> {
  const { rows } = await pool.query<Due>({
    name: 'indexnow-claim',
    text: `with due as (
       select f.domain_id from page_fact f left join indexnow_state s using (domain_id)
        where f.untold_at <= $2 and (s.next_at is null or s.next_at <= $1) limit 1
     ), claimed as (
       insert into indexnow_state as known (domain_id, next_at) select domain_id, $3 from due
       on conflict (domain_id) do update set next_at = excluded.next_at where known.next_at <= $1
       returning domain_id, failing_since)
     select d.id, d.custom_domain as name, d.origin_url as "originUrl", d.settings, d.indexnow_key as key,
            d.is_active and a.suspended_at is null and d.indexnow_key is not null
              and d.settings->'indexnow' = 'true' as "isOn", c.failing_since as "failingSince"
       from claimed c join domain d on d.id = c.domain_id join account a on a.id = d.account_id`,
    values: [new Date(nowMs), new Date(nowMs - GATHER_MS), new Date(nowMs + LEASE_MS)],
  })
  return rows[0]
}

/** Without pages that no sitemap would list and none has listed. */
async function urlsOf(deps: Deps, due: Due, changed: readonly Changed[]): Promise<string[]> {
  const settings = readDomainSettings(due.settings)
  const redirects = await redirectMapOf(deps.pool, due.id)
  const robots = await deps.robots.rules(await deps.robots.siteOf({ ...due, settings }))
  const rules = new RuleBook(settings.rules)
  const listed = changed.filter(({ path, is_covered: isCovered }) =>
    isOpen(path, { robots, rules, redirects: isCovered ? null : redirects }),
  )
  return listed.map(({ path }) => `https://${due.name}${path}`)
}

async function post({ url, origins }: Deps, { name, key }: Due, urlList: string[]): Promise<number> {
  const { origin: base, pathname, search } = new URL(url)
  const origin = readOrigin(base, 'own')
  const batch = { host: name, key, keyLocation: `https://${name}/${key}.txt`, urlList }
  const content = Buffer.from(JSON.stringify(batch))
  const headers = ['Host', origin.authority, 'User-Agent', 'Prepaint', 'Accept', '*/*']
  headers.push('Content-Type', 'application/json; charset=utf-8', 'Content-Length', `${content.length}`)
  const { statusCode, body } = await sendRequest(origins, origin, {
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

/** Those that changed again meanwhile are told again. */
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

/** `status` null: no answer, or nothing was sent yet. */
export async function readIndexNow(
  db: Pick<pg.Pool, 'query'>,
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
