import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import { FLEET_FIGURES } from '../../../../../test/support/metrics.ts'
import { addTestDomain } from '../../../../../test/support/traffic.ts'
import { QUOTA_RANGES, readFleetFigures } from './fleet-metrics.ts'
import { Metrics } from './metrics.ts'

const { pool } = await openTestDatabase()
for (const n of [1, 2, 3, 4, 5]) await addTestDomain(pool, `d${n}.example`)
function world() {
  const faults: unknown[] = []
  const state = { nowMs: 0, reads: 0, away: false }
  const node = {
    version: '1.2.3',
    pools: [
      { totalCount: 3, idleCount: 1, waitingCount: 7 },
      { totalCount: 2, idleCount: 1, waitingCount: 0 },
    ],
    listener: { connected: true },
    availability: { awayMs: 0 },
    snapshot: { domains: 3, bytes: 4_096, ageMs: 61_400 as number | null },
  }
  const readFleet = async () => {
    state.reads++
    if (state.away) throw new Error('away')
    return FLEET_FIGURES
  }
  const log = silentLog()
  log.warn = (fault: unknown) => faults.push(fault)
  const metrics = new Metrics(node, 4, readFleet, { nowMs: () => state.nowMs }, log)
  /** The values of a metric, by their labels as they are written. */
  const values = async (name: string): Promise<Record<string, number>> => {
    const lines = (await metrics.text()).body.split('\n')
    return Object.fromEntries(
      lines.flatMap((line) => {
        const match = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line)
        return match?.[1] === name ? [[match[2] ?? '', Number(match[3])]] : []
      }),
    )
  }
  /** The value of a metric with one, whatever its labels. */
  const value = async (name: string) => Object.values(await values(name))[0]
  return { metrics, values, value, state, faults }
}

describe('metrics of live requests', () => {
  it('are counted by verdict, reason and crawler', async () => {
    const { metrics, values } = world()
    for (const [verdict, crawler] of [
      ['hit', 'search'],
      ['hit', 'search'],
      ['pass; not-a-crawler', null],
      ['pass; late', 'search'],
    ] as const) {
      metrics.edge.answered({ verdict, crawler, seconds: 0.001 })
    }
    assert.deepEqual(await values('prepaint_edge_requests_total'), {
      'verdict="hit",why="",crawler="search"': 2,
      'verdict="pass",why="not-a-crawler",crawler="none"': 1,
      'verdict="pass",why="late",crawler="search"': 1,
    })
  })

  it('have their times in cumulative buckets, one line for all reasons of a verdict', async () => {
    const { metrics, value, values } = world()
    for (const seconds of [0.0001, 0.0002, 0.3, 99]) {
      metrics.edge.answered({ verdict: 'pass; late', crawler: null, seconds })
    }
    metrics.edge.answered({ verdict: 'pass; asset', crawler: null, seconds: 0.2 })
    const buckets = await values('prepaint_edge_request_seconds_bucket')
    const upTo = (le: string) => buckets[`verdict="pass",le="${le}"`]
    assert.deepEqual(['0.0001', '0.00025', '0.25', '0.5', '30', '+Inf'].map(upTo), [1, 2, 3, 4, 4, 5])
    assert.equal((await value('prepaint_edge_request_seconds_sum'))?.toFixed(4), '99.5003')
  })

  it('stay bounded, whatever verdicts there are', async () => {
    const { metrics, values } = world()
    for (let number = 0; number < 500; number++) {
      metrics.edge.answered({ verdict: `pass; reason-${number}`, crawler: null, seconds: 0 })
    }
    const counted = await values('prepaint_edge_requests_total')
    assert.equal(Object.keys(counted).length, 61)
    assert.equal(counted['verdict="other",why="",crawler="none"'], 440)
  })
})

it('metrics of renders are taken around the renderer, also when it throws', async () => {
  const { metrics, value, values } = world()
  let nowMs = 0
  const held = Promise.withResolvers<void>()
  const render = metrics.render.measured(
    async (kind: string) => {
      nowMs += 300
      if (kind === 'throws') throw new Error('no')
      if (kind === 'held') await held.promise
      return { outcome: { kind }, record: { requests: { made: 7 } } }
    },
    { nowMs: () => nowMs },
  )
  await render('blank')
  await assert.rejects(render('throws'))
  const slow = render('held')
  assert.equal(await value('prepaint_render_slots_in_use'), 1)
  held.resolve()
  await slow
  assert.equal(await value('prepaint_render_slots_in_use'), 0)
  assert.deepEqual(await values('prepaint_renders_total'), { 'outcome="blank"': 1, 'outcome="held"': 1 })
  assert.equal(await value('prepaint_render_requests_total'), 14)
  const buckets = await values('prepaint_render_seconds_bucket')
  assert.deepEqual([buckets['le="0.25",outcome="blank"'], buckets['le="0.5",outcome="blank"']], [0, 1])
})

it('metrics of the fleet are read once in five seconds, absent while PostgreSQL is away, and come back', async () => {
  const { metrics, value, values, state, faults } = world()
  assert.deepEqual(await values('prepaint_queue_jobs'), { 'priority="live"': 3 })
  assert.equal(await value('prepaint_jobs_running'), 2)
  for (const [name, count] of [
    ['waiting', 4],
    ['running', 1],
    ['failing', 2],
    ['oldest_seconds', 30],
  ] as const) {
    assert.deepEqual(await values(`prepaint_tasks_${name}`), { 'kind="indexnow"': count })
  }
  assert.equal(await value('prepaint_certificate_soonest_end_seconds'), 86_400)
  const ranges = QUOTA_RANGES.map((used, at) => [`used="${used}"`, [5, 4, 3, 1][at]])
  assert.deepEqual(await values('prepaint_domains'), Object.fromEntries(ranges))
  state.nowMs = 4_999
  await metrics.text()
  assert.equal(state.reads, 1)

  state.away = true
  state.nowMs = 5_000
  await Promise.all([metrics.text(), metrics.text()])
  assert.deepEqual([state.reads, faults.length], [2, 1])
  assert.deepEqual(await values('prepaint_jobs_running'), {})
  assert.deepEqual(await values('prepaint_build_info'), { 'version="1.2.3"': 1 })
  state.away = false
  state.nowMs = 10_000
  assert.equal(await value('prepaint_jobs_running'), 2)
})

it('metrics of the node: connections, notifications, browsers, memory, the process', async () => {
  const { metrics, value, values } = world()
  let pages = 1
  metrics.edge.holds(() => ({ pages, bytes: 10 * pages, diskBytes: 3 * pages }))
  assert.equal(await value('prepaint_edge_pages_in_memory'), 1)
  pages = 2
  assert.equal(await value('prepaint_edge_memory_bytes'), 20)
  assert.equal(await value('prepaint_edge_disk_bytes'), 6)
  metrics.render.watches({ healthy: false, browsers: { alive: 2, started: 9 } })
  const names = ['browser_up', 'browsers', 'browsers_started_total']
  assert.deepEqual(await Promise.all(names.map((name) => value(`prepaint_${name}`))), [0, 2, 9])
  const connections = { 'state="in_use"': 3, 'state="idle"': 2, 'state="waiting"': 7 }
  assert.deepEqual(await values('prepaint_database_connections'), connections)
  assert.equal(await value('prepaint_listener_connected'), 1)
  assert((await values('prepaint_tree_memory_bytes'))['part="node"']! > 10_000_000)
  assert((await value('process_cpu_seconds_total'))! > 0)
})

const MONTH = '2026-11-01'
const LIMITS = { starter: 100, pro: 1_000 }

it('the queue by priority, the head of each line, and the domains by their month', async () => {
  await pool.query(`update account set plan = 'starter' where email <> 'd5.example@example.com'`)
  await pool.query(
    `insert into render_count (domain_id, month, renders)
     select domain.id, date '${MONTH}', renders from domain join (values
       ('d1.example', 79), ('d2.example', 80), ('d3.example', 100), ('d4.example', 120), ('d5.example', 120)
     ) c (name, renders) on name = custom_domain
     union all select id, date '2026-10-01', 9999 from domain`,
  )
  await pool.query(
    `insert into job (account_id, domain_id, path, priority, turn, created_at, run_at, state)
     select account_id, id, path, priority, turn, now() - waited, now() + backs_off, state from domain, (values
      ('/1', 0, 1, interval '10 seconds', interval '0', 'queued'),
      ('/2', 0, 2, interval '30 seconds', interval '0', 'queued'),
      ('/3', 0, 3, interval '70 seconds', interval '1 hour', 'queued'),
      ('/4', 2, 1, interval '0', interval '0', 'queued'),
      ('/5', 0, 1, interval '0', interval '0', 'running')
     ) job (path, priority, turn, waited, backs_off, state) where custom_domain = 'd1.example'`,
  )
  const { queue, running, slots, quota, rendersThisMonth } = await readFleetFigures(pool, MONTH, LIMITS, 600)
  assert.deepEqual(
    queue.map(({ priority, queued }) => `${priority} ${queued}`),
    ['live 3', 'refresh 0', 'warm 1'],
  )
  // The one whose back-off goes on is not next.
  assert(queue[0]!.headAgeSeconds >= 30 && queue[0]!.headAgeSeconds < 60)
  assert.equal(running, 1)
  // One runs, three crawlers wait, and a render of two seconds has ten minutes: four slots, and a fifth to spare.
  assert.deepEqual(slots, { wanted: 6, fleet: 0 })
  await pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
     select id, '/', gen_random_uuid(), 'rendered', 0, ms, '{}', now() - ago from domain, (values
       (6000, interval '1 minute'), (9000, interval '11 minutes')) r (ms, ago) where custom_domain = 'd1.example'`,
  )
  // In ten seconds, the warm takes six of a slot's: the render of eleven minutes ago does not count.
  assert.equal((await readFleetFigures(pool, MONTH, LIMITS, 10)).slots.wanted, 6)
  assert.equal((await readFleetFigures(pool, MONTH, LIMITS, 6)).slots.wanted, 7)
  const { rows: signals } = await pool.query('select * from scale_signal')
  const { slots_wanted: wanted, live_waiting: live, head_age_seconds: age } = signals[0]
  assert.deepEqual([wanted, live, age >= 30 && age < 60], [6, 3, true])
  assert.deepEqual(quota, { under_80: 2, '80_to_100': 1, '100_to_120': 1, '120': 1 })
  assert.equal(rendersThisMonth, 79 + 80 + 100 + 120 + 120)
})

it('nodes by their state; certificates of active domains: the first that ends, and orders that fail', async () => {
  await pool.query(
    `insert into node (id, host, version, roles, slots, running, cores, load, memory_bytes, browser, schema, draining, seen_at)
     select name, 'h', '1', '{}', 3, 0, 1, 0, 0, 'none', '', drains, clock_timestamp() - silent * interval '1 second'
       from (values ('a', false, 14), ('b', true, 0), ('c', false, 16)) n (name, drains, silent)`,
  )
  await pool.query(
    `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
     select id, 'own', '', '', now(), now() + make_interval(days => case custom_domain
              when 'd1.example' then 20 when 'd2.example' then 10 else 1 end) from domain`,
  )
  await pool.query(`update domain set is_active = custom_domain in ('d1.example', 'd2.example')`)
  await pool.query(
    `update certificate_order set failures = 3 from domain d
      where d.id = domain_id and d.custom_domain in ('d1.example', 'd3.example')`,
  )
  const { nodes, slots, certificates } = await readFleetFigures(pool, MONTH, LIMITS, 600)
  assert.equal(slots.fleet, 3, 'one that drains, and one that has died, render nothing more')
  assert.deepEqual(nodes, { serving: 1, draining: 1, dead: 1 })
  const { stored, soonestEndSeconds, failing } = certificates
  assert.deepEqual([stored, failing, Math.round(soonestEndSeconds! / 86_400)], [2, 1, 10])
  await pool.query(`update certificate set not_after = now() - interval '1 day'`)
  assert.equal((await readFleetFigures(pool, MONTH, LIMITS, 600)).certificates.soonestEndSeconds, 0)
})
