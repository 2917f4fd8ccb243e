import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AccountId, type DomainId, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { NO_PAGES } from '@prepaint/contract/traffic/verdict-kind.ts'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import { columns } from '../../../../../test/support/queue.ts'
import { addTestDomain, NOON_MS, startTestTraffic } from '../../../../../test/support/traffic.ts'
import { readPortfolio } from '../portfolio.ts'
import { foldMinutes } from './fold.ts'
import { forecastRenders, readMonths, readRenders } from './read-renders.ts'
import { readSummaries } from './read-summaries.ts'
import {
  DAYS_KEPT,
  FLUSH_DAYS_KEPT,
  HOURS_KEPT_DAYS,
  keepTrafficDays,
  removeOldTraffic,
} from './retention.ts'

const database = await openTestDatabase()
const { pool } = database

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DOMAINS = 3
const VERDICTS = ['hit', 'stale', 'rendered', 'pass; timed-out', 'pass; asset', 'sitemap']

/** Domains of one account, by name. */
async function account(name: string): Promise<[AccountId, DomainId[]]> {
  const domains: DomainId[] = []
  for (let n = 0; n < DOMAINS; n++) domains.push(await addTestDomain(pool, `${n}.${name}`))
  const sql = `update domain set account_id = (select account_id from domain where id = $1)
                where id = any ($2) returning account_id`
  const [of] = await database.column<AccountId>(sql, domains[0], domains)
  return [of!, domains]
}

type Line = [DomainId, hour: number, verdict: string, category: string | null, visits: number]

/** Counts lines as a node does, by domain, hour, verdict and category; so many visits. */
async function write(lines: readonly Line[]): Promise<void> {
  let nowMs = 0
  const traffic = startTestTraffic(pool, { nowMs: () => nowMs })
  for (const [domain, hour, verdict, crawler, visits] of lines.toSorted(
    ([, one], [, other]) => one - other,
  )) {
    nowMs = hour * HOUR_MS
    for (let visit = 0; visit < visits; visit++) traffic.visit(domain, { verdict, crawler, path: '/' })
  }
  await traffic.close()
}

describe('summaries', () => {
  it('are what the lines add up to, at every hour of the day', async () => {
    const [of, [steady, mixed]] = await account('every.example')
    const now = Math.floor(NOON_MS / HOUR_MS)
    // The hour to come is there already: clocks differ.
    const hours = Array.from({ length: 9 * 24 }, (_, ago) => now + 1 - ago)
    const ofSteady = hours.map((hour): Line => [steady!, hour, 'hit', 'search', 1])
    await write(ofSteady)
    await foldMinutes(pool)
    // What is not added up yet counts, too.
    await write(ofSteady)
    await write([
      ...VERDICTS.map((verdict, at): Line => [mixed!, now, verdict, 'search', 2 ** at]),
      [mixed!, now, 'pass; not-a-crawler', null, 1_000],
    ])
    for (let ago = 0; ago < 24; ago++) {
      const [first] = await readSummaries(pool, wholeAccount(of), NOON_MS - ago * HOUR_MS)
      assert.deepEqual([first!.day.pages, first!.week.pages], [2 * (26 + ago), 2 * (170 + ago)])
    }
    const summaries = await readSummaries(pool, wholeAccount(of), NOON_MS)
    assert.deepEqual(columns(summaries, 'day').flat().slice(1), [
      { pages: 15, hit_ratio: 0.2 },
      { pages: 0, hit_ratio: null },
    ])
    await foldMinutes(pool)
    assert.deepEqual(await readSummaries(pool, wholeAccount(of), NOON_MS), summaries)
  })

  it('know the same verdicts for no pages as the code does', async () => {
    for (const verdict of [...NO_PAGES, ...VERDICTS, 'pass; late', 'pass; other', 'pass; x']) {
      const sql = `select is_for_page(who, $1) from unnest('{search,people}'::text[]) who`
      assert.deepEqual(await database.column(sql, verdict), [!NO_PAGES.includes(verdict), false], verdict)
    }
  })
})

describe('renders of a month', async () => {
  const NOW = Date.UTC(2026, 10, 10)
  const domain = await addTestDomain(pool, 'shop.example')
  const [account] = await database.column<AccountId>('select account_id from domain where id = $1', domain)
  const of = { account: account!, domains: [domain] }
  await pool.query(`update domain set created_at = '2026-10-01' where id = $1`, [domain])

  const days = async (renders: Record<string, number>) => {
    await pool.query('truncate render_day')
    await pool.query(
      'insert into render_day select $1, key::date, value::integer from jsonb_each_text($2::jsonb)',
      [domain, JSON.stringify(renders)],
    )
  }
  const renders = async () => (await readRenders(pool, of, 10_000, NOW, DEFAULT_PLANS))[0]!
  const pace = async () => (await renders()).forecast?.per_day

  // Proves decided "Monthly renders"
  it('days on which a smaller plan was used up do not count for the pace', async () => {
    await days({ '2026-11-01': 700, '2026-11-02': 500, '2026-11-08': 690, '2026-11-09': 710 })
    // 1,200 by the second: at 120 % of `starter` until the seventh, on another plan from the eighth on.
    assert.equal(await pace(), 700)
    await days({ '2026-11-01': 700, '2026-11-02': 300, '2026-11-09': 710 })
    assert.equal(await pace(), 710, 'at 100 %')
  })

  it('other quiet days do, and months begin anew', async () => {
    await days({ '2026-10-31': 501, '2026-11-01': 700, '2026-11-02': 499, '2026-11-09': 710 })
    assert.equal(await pace(), 0)
  })

  it('of all domains at once the same as of one: a young domain has its own whole days', async () => {
    const young = { '2026-11-03': 10, '2026-11-07': 20, '2026-11-08': 30, '2026-11-09': 50 }
    await days({ '2026-10-31': 1_000, ...young })
    await pool.query(`insert into render_count values ($1, '2026-11-01', 110)`, [domain])
    for (const [born, perDay] of [
      ['2026-10-01', 10],
      ['2026-11-06 23:59:59.999', 30],
      ['2026-11-07 00:00:00', 40],
      ['2026-11-08 12:00', 50],
      ['2026-11-09 00:00:01', undefined],
    ] as const) {
      await pool.query('update domain set created_at = $2 where id = $1', [domain, `${born}Z`])
      const { days: each, ...month } = await renders()
      assert.deepEqual(await readMonths(pool, wholeAccount(of.account), 10_000, NOW, DEFAULT_PLANS), [month])
      assert.deepEqual([month.used, month.forecast?.per_day, each.length], [110, perDay, 10], born)
      assert.deepEqual(each[8], { day: '2026-11-09', renders: 50 })
    }
  })

  it('the list of all sites has the same, on any day of the month', async () => {
    await pool.query(`update domain set created_at = '2026-09-01' where id = $1`, [domain])
    const all = {
      ...{ '2026-10-24': 600, '2026-10-26': 400, '2026-10-30': 90, '2026-11-01': 700, '2026-11-02': 300 },
      ...{ '2026-11-08': 30, '2026-11-09': 710, '2026-11-14': 40, '2026-11-15': 60 },
    }
    const plan = DEFAULT_PLANS['pro']!
    const paces = new Set<number | undefined>()
    for (const dayOfMonth of [1, 2, 7, 8, 9, 10, 15, 16, 21]) {
      const nowMs = Date.UTC(2026, 10, dayOfMonth, 12)
      const until = Object.entries(all).filter(([day]) => Date.parse(day) <= nowMs)
      await days(Object.fromEntries(until))
      await pool.query('truncate render_count')
      await pool.query(
        `insert into render_count select domain_id, date_trunc('month', day), sum(renders) from render_day group by 1, 2`,
      )
      const [month] = await readMonths(pool, of, plan.monthly_render_limit, nowMs, DEFAULT_PLANS)
      const view = { plan, plans: DEFAULT_PLANS, publicUrl: null, nowMs }
      const [listed] = await readPortfolio(pool, of, {}, view)
      const { domain: _, ...expected } = month!
      assert.deepEqual(listed!.renders, expected, `on the ${dayOfMonth}th`)
      paces.add(expected.forecast?.per_day)
    }
    assert(paces.size >= 3)
  })

  // Ten days are left of November.
  const NOVEMBER_21 = Date.UTC(2026, 10, 21)

  it('the forecast: one day of a deploy changes nothing, nor does the order of days', () => {
    const perDay = (days: number[]) =>
      forecastRenders({ used: 0, limit: 9e9, days, nowMs: NOVEMBER_21 })?.per_day
    assert.equal(perDay([5, 3, 9_000, 5, 5]), 5)
    assert.equal(perDay([1, 4]), 2.5)
    assert.equal(perDay([]), undefined)
  })

  it('the forecast says on which day the limit is reached: at it, one past it, or not in this month', () => {
    const on = (used: number, limit: number, days = [10]) =>
      forecastRenders({ used, limit, days, nowMs: NOVEMBER_21 })?.reaches_limit_on
    assert.equal(on(50, 100), '2026-11-26')
    assert.equal(on(0, 99), '2026-11-30')
    assert.equal(on(0, 100), null, 'in the first moment of the next month')
    assert.equal(on(100, 100, [0]), '2026-11-21')
    assert.equal(on(99, 100, [0]), null)
  })
})

const TODAY = `(now() at time zone 'UTC')::date`
const VISITS = `'search', 'Googlebot', 'hit', 1, 0, 0, 0, 0, '{1}'`

/** The values of a row of so many days of `age`, the last of which is kept. */
const ROWS: [table: string, keptDays: number, values: string][] = [
  ['traffic_hour', HOURS_KEPT_DAYS, `now() - make_interval(days => age, mins => -1), ${VISITS}`],
  ['traffic_day', DAYS_KEPT, `${TODAY} - age, ${VISITS}`],
  ['traffic_path', HOURS_KEPT_DAYS, `${TODAY} - age, true, '/', 1, 'hit', 200`],
  ['traffic_folded_hour', HOURS_KEPT_DAYS, `now() - make_interval(days => age, mins => -1), 1, '[]'`],
  ['traffic_folded_day', DAYS_KEPT, `${TODAY} - age, 1, 1, 1, '{}', '{}', '[]'`],
  ['traffic_forbidden', DAYS_KEPT, `${TODAY} - age, 'search', 'Googlebot', 1, '{/}'`],
  ['render_day', 0, `(date_trunc('month', ${TODAY}) - interval '12 months')::date - age, 1`],
]

// Proves decided "Traffic", decided "Retention"
it('what has outlived its time goes, in steps, and what has not stays', async () => {
  const { pool } = await openTestDatabase()
  for (const name of ['a.example', 'b.example']) await addTestDomain(pool, name)
  for (const [table, kept, values] of ROWS) {
    await pool.query(`delete from ${table}`)
    await pool.query(
      `insert into ${table} select domain.id, ${values} from domain, generate_series($1::int, $2::int) as age`,
      [kept, kept + 2],
    )
  }
  await pool.query(
    `insert into traffic_flush select gen_random_uuid(), 1, now() - make_interval(days => $1) + age
       from unnest(array[interval '1 minute', interval '-1 minute']) as age`,
    [FLUSH_DAYS_KEPT],
  )
  assert.equal(await removeOldTraffic(pool, { step: 2 }), 2 * 2 * ROWS.length + 1)
  for (const [table] of ROWS) assert.equal((await pool.query(`select from ${table}`)).rowCount, 2, table)
  assert.equal((await pool.query('select from traffic_flush')).rowCount, 1)
  assert.equal(await removeOldTraffic(pool), 0)
})

it('the days of counts that wait are made ahead, and dropped when they have passed and all was added up', async () => {
  const { pool, column } = await openTestDatabase()
  const days = () =>
    column<string>(`select right(inhrelid::regclass::text, 8) from pg_inherits
                                      where inhparent = 'traffic_minute'::regclass order by 1`)
  const nowMs = Date.UTC(2030, 0, 10)
  await keepTrafficDays(pool, nowMs)
  assert.deepEqual(await days(), ['20300110', '20300111', '20300112', '20300113', '_default'])
  await keepTrafficDays(pool, nowMs + 3 * DAY_MS - 1)
  assert.deepEqual((await days())[0], '20300110', 'two days ago')
  await keepTrafficDays(pool, nowMs + 3 * DAY_MS)
  assert.deepEqual((await days())[0], '20300111')
})
