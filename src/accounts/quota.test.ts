import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { openTestDatabase } from '../../test/support/database.ts'
import { openFolder } from '../../test/support/folder.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import type { DomainId } from '../ids.ts'
import { DEFAULT_PLANS, planNamed, readPlans } from './plans.ts'
import { limitReached, overQuota, readQuota, takeRender } from './quota.ts'

const NOVEMBER = Date.UTC(2026, 10, 21, 12)
const sound = { site_limit: null, monthly_render_limit: 10, api_keys: true, webhooks: false }
const PLANS = { pro: sound }

it('a limit is reached at 100 %, and overrun at 120 %, rounded up', () => {
  for (const [limit, reachedAt, overAt] of [
    [0, 0, 0],
    [1, 1, 2],
    [7, 7, 9],
    [5, 5, 6],
    [1_000_000, 1_000_000, 1_200_000],
  ] as const) {
    const at = (used: number) => [limitReached({ used, limit }), overQuota({ used, limit })]
    assert.deepEqual([at(reachedAt - 1)[0], at(reachedAt)[0]], [false, true])
    assert.deepEqual([at(overAt - 1)[1], at(overAt)[1]], [false, true])
  }
})

const db = await openTestDatabase()
let count = 0
const newDomain = () => addTestDomain(db.pool, `d${++count}.example`)

const take = (domain: DomainId, limit: number, nowMs = NOVEMBER) => takeRender(db.pool, domain, limit, nowMs)
const used = async (domain: DomainId, nowMs = NOVEMBER) =>
  (await readQuota(db.pool, PLANS, domain, nowMs))?.used

it('the rule in SQL is the rule in TypeScript', async () => {
  const { rows } = await db.pool.query<{ used: number; limit: number; is_over: boolean }>(
    `select used, most as limit, over_quota(used, most) as is_over
         from generate_series(0, 60) used, generate_series(0, 50) most`,
  )
  for (const { is_over, ...quota } of rows) assert.equal(overQuota(quota), is_over, JSON.stringify(quota))
})

// Proves interface 8/6
it('counts to 120 % and not one further', async () => {
  const domain = await newDomain()
  for (let i = 0; i < 12; i++) assert.equal(await take(domain, 10), true)
  assert.equal(await take(domain, 10), false)
  assert.equal(await used(domain), 12)
  assert.equal(await take(domain, 11), true, 'a larger plan counts at once')
  assert.equal(await take(domain, 5), false)
})

// Proves decided "Monthly renders"
it('counts by UTC day too, and no day has one that was refused', async () => {
  const domain = await newDomain()
  const evening = Date.UTC(2026, 10, 21, 23, 59, 59, 999)
  for (const nowMs of [NOVEMBER, evening, evening + 1, evening + 1]) await take(domain, 3, nowMs)
  assert.equal(await take(domain, 3, evening + 1), false)
  const days = `select day || ' ' || renders from render_day where domain_id = $1 order by day`
  assert.deepEqual(await db.column(days, domain), ['2026-11-21 2', '2026-11-22 2'])
})

// Proves interface 1/7
it('months begin and end in UTC, wherever the node and the database stand', async () => {
  const domain = await newDomain()
  const client = await db.pool.connect()
  await client.query(`set time zone 'Pacific/Kiritimati'`)
  const firstMs = Date.UTC(2026, 11, 1)
  await takeRender(client, domain, 10, firstMs - 1)
  await takeRender(client, domain, 10, firstMs)
  await takeRender(client, domain, 10, firstMs)
  client.release(true)
  const counts = [NOVEMBER, firstMs, Date.UTC(2027, 0, 1)].map((nowMs) => used(domain, nowMs))
  assert.deepEqual(await Promise.all(counts), [1, 2, 0])
  const months = 'select month::text from render_count where domain_id = $1 order by 1'
  assert.deepEqual(await db.column(months, domain), ['2026-11-01', '2026-12-01'])
})

it('reads the limit of the plan; a plan that is no more allows nothing; a domain that is gone has none', async () => {
  const domain = await newDomain()
  assert.deepEqual(await readQuota(db.pool, PLANS, domain, NOVEMBER), { used: 0, limit: 10 })
  assert.deepEqual(await readQuota(db.pool, {}, domain, NOVEMBER), { used: 0, limit: 0 })
  assert.equal(await readQuota(db.pool, PLANS, 999_999 as DomainId, NOVEMBER), null)
})

const folder = openFolder()

// Proves interface 8/10, decided "Plans (default catalogue)"
it('a catalogue from a file; the default one: what each plan may', () => {
  assert.deepEqual(read(JSON.stringify({ gold: sound })), { gold: sound })
  const plans = Object.entries(DEFAULT_PLANS).map(([name, plan]) => [name, ...Object.values(plan)])
  assert.deepEqual(plans, [
    ['starter', 1, 1_000, false, false],
    ['pro', 5, 10_000, false, false],
    ['agency', 25, 50_000, true, false],
    ['agency_plus', 100, 200_000, true, true],
    ['enterprise', null, 1_000_000, true, true],
  ])
})

it('a catalogue that is wrong is refused, with every problem named', () => {
  for (const [text, message] of [
    ['{', /JSON/],
    ['[]', /catalogue: /],
    ['{}', /at least one plan/],
    ['{"gold": {"site_limit": 1}}', /gold\.monthly_render_limit.*gold\.api_keys/],
    [JSON.stringify({ gold: { ...sound, price: 3 } }), /gold: .*price/],
    [JSON.stringify({ gold: { ...sound, site_limit: -1 } }), /gold\.site_limit/],
    [JSON.stringify({ 'Gold plan': sound }), /lower case letters/],
  ] as const) {
    assert.throws(() => read(text), message)
  }
  assert.throws(() => readPlans('/does/not/exist.json'), /plan catalogue \/does\/not\/exist\.json: ENOENT/)
})

it('a plan that the catalogue does not have allows nothing', () => {
  for (const name of ['gold', 'constructor', '__proto__']) {
    assert.deepEqual(Object.values(planNamed(DEFAULT_PLANS, name)), [0, 0, false, false])
  }
  assert.equal(planNamed(DEFAULT_PLANS, 'agency').site_limit, 25)
})

function read(text: string) {
  const file = path.join(folder, 'plans.json')
  writeFileSync(file, text)
  return readPlans(file)
}
