import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createTraffic, type TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import type { CountLimits } from '../../packages/service/src/insight/traffic/visit-counts.ts'
import { insertDomain, type TestDatabase } from './database.ts'

export const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
export const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

/** In the middle of an hour, a day and a month. */
export const NOON_MS = Date.UTC(2026, 10, 15, 12, 30)

export type TestVisit = {
  verdict?: string
  /** Absent: category `search`. null: no crawler. */
  crawler?: string | null
  agent?: string
  path?: string
  url?: string
  status?: number
  seconds?: number
  via?: string
  form?: Form
}

export function startTestTraffic(
  pool: TestDatabase['pool'],
  options: { nowMs?: () => number; limits?: CountLimits } = {},
): TrafficCounter & { visit(domain: DomainId, visit?: TestVisit): void } {
  const traffic = createTraffic({
    pool,
    clock: { nowMs: options.nowMs ?? (() => NOON_MS) },
    log: silentLog(),
    flushEveryMs: 3_600_000,
    ...(options.limits && { limits: options.limits }),
  })
  return {
    ...traffic,
    visit(domain, { verdict = 'hit', crawler = 'search', agent = GOOGLEBOT, ...visit } = {}) {
      const { path, url, via, form, status = 200, seconds = 0.001 } = visit
      traffic.count(
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
    },
  }
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
