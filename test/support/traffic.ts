import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import type { CountLimits } from '../../packages/service/src/insight/traffic/visit-counts.ts'
import { insertDomain, type TestDatabase } from './database.ts'

export const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
export const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

/** In the middle of an hour, a day and a month. */
export const NOON_MS = Date.UTC(2026, 10, 15, 12, 30)

export type TestVisit = {
  verdict?: string
  /** The crawler's category, which is `search` if absent. Null if the visitor is no crawler. */
  crawler?: string | null
  agent?: string
  path?: string
  url?: string
  status?: number
  seconds?: number
  via?: string
  form?: Form
}

/** A counter that writes only when it is told to. */
class TestTraffic extends TrafficCounter {
  /** Counts a visit. Absent fields are those of a hit by Googlebot. */
  visit(domain: DomainId, visit: TestVisit = {}): void {
    const { verdict = 'hit', crawler = 'search', agent = GOOGLEBOT } = visit
    const { path, url, via, form, status = 200, seconds = 0.001 } = visit
    this.count(
      { url, headers: { 'user-agent': agent, via } },
      {
        verdict: verdict as Verdict,
        crawler,
        seconds,
        status,
        domain: { id: domain, query: 'keep' },
        page: path === undefined ? null : pageId(domain, path as PagePath),
        form,
      },
    )
  }
}

export function startTestTraffic(
  pool: TestDatabase['pool'],
  { nowMs = () => NOON_MS, limits }: { nowMs?: () => number; limits?: CountLimits } = {},
): TestTraffic {
  return new TestTraffic(pool, { nowMs }, silentLog(), { flushEveryMs: 3_600_000, limits })
}

export function addTestDomain(pool: TestDatabase['pool'], name: string): Promise<DomainId> {
  return insertDomain(pool, name)
}

/** A domain's stored lines, for example `12:00 search Googlebot hit 3`. */
export async function storedLines(pool: TestDatabase['pool'], domain: DomainId): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select concat_ws(' ', to_char(hour at time zone 'UTC', 'HH24:MI'), category, nullif(crawler, ''), verdict, visits) as line
       from traffic_hour where domain_id = $1 order by hour, category, crawler, verdict`,
    [domain],
  )
  return rows.map(({ line }) => line)
}
