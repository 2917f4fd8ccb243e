import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { TestContext } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
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
  return new TestTraffic(pool, new VisitedNotices(pool, silentLog()), { nowMs }, silentLog(), {
    flushEveryMs: 3_600_000,
    limits,
  })
}

export function addTestDomain(pool: TestDatabase['pool'], name: string): Promise<DomainId> {
  return insertDomain(pool, name)
}

/** A domain's stored lines by hour, for example `12:00 search Googlebot hit 3`. */
export async function storedLines(pool: TestDatabase['pool'], domain: DomainId): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select concat_ws(' ', to_char(hour at time zone 'UTC', 'HH24:MI'), category, nullif(crawler, ''), verdict, sum(visits)) as line
       from traffic_by_hour where domain_id = $1 group by hour, category, crawler, verdict
      order by hour, category, crawler, verdict`,
    [domain],
  )
  return rows.map(({ line }) => line)
}

/** Starts a process that writes five visits of a domain, or adds up what is written (traffic-process-main.ts). It is killed when the test ends. */
export async function startTrafficProcess(
  t: TestContext,
  { url }: TestDatabase,
  domain: DomainId,
  step: 'flush' | 'fold',
): Promise<{ kill(): Promise<void> }> {
  const main = path.join(import.meta.dirname, 'traffic-process-main.ts')
  const child = spawn(process.execPath, [main, url, String(domain), step], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  t.after(kill)
  await once(child.stdout, 'data')
  return { kill }
}
