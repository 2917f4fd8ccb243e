import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { openTestDatabase } from '../../../test/support/database.ts'
import { FLEET_FIGURES } from '../../../test/support/metrics.ts'
import { QUOTA_RANGES, readFleetFigures } from './fleet-metrics.ts'
import { createMetrics } from './metrics.ts'
import { treeMemory } from './tree-memory.ts'

function world({ fails = () => false }: { fails?: () => boolean } = {}) {
  const faults: unknown[] = []
  const state = { nowMs: 0, reads: 0 }
  const pool = { totalCount: 5, idleCount: 2, waitingCount: 7 }
  const metrics = createMetrics(
    { version: '1.2.3', pool, listener: { connected: true } },
    { slots: 4 },
    {
      async read() {
        state.reads++
        if (fails()) throw new Error('away')
        return FLEET_FIGURES
      },
      nowMs: () => state.nowMs,
      onFault: (error) => faults.push(error),
    },
  )
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
    const tell = (verdict: string, crawler: string | null, times: number) => {
      for (let time = 0; time < times; time++) metrics.edge.answered({ verdict, crawler, seconds: 0.001 })
    }
    tell('hit', 'search', 3)
    tell('pass; not-a-crawler', null, 2)
    tell('pass; late', 'search', 1)
    assert.deepEqual(await values('prepaint_edge_requests_total'), {
      'verdict="hit",why="",crawler="search"': 3,
      'verdict="pass",why="not-a-crawler",crawler="none"': 2,
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

describe('metrics of renders', () => {
  it('are taken around the renderer, also when it throws', async () => {
    const { metrics, value, values } = world()
    const clock = { nowMs: 0 }
    const held = Promise.withResolvers<void>()
    const render = metrics.render.measured(
      async (kind: string) => {
        clock.nowMs += 300
        if (kind === 'throws') throw new Error('no')
        if (kind === 'held') await held.promise
        return { outcome: { kind }, record: { requests: { made: 7 } } }
      },
      () => clock.nowMs,
    )
    await render('blank')
    await assert.rejects(render('throws'))
    const slow = render('held')
    assert.equal(await value('prepaint_render_slots_in_use'), 1)
    held.resolve()
    await slow
    assert.equal(await value('prepaint_render_slots_in_use'), 0)
    const renders = { 'outcome="blank"': 1, 'outcome="held"': 1 }
    assert.deepEqual(await values('prepaint_renders_total'), renders)
    assert.deepEqual(await values('prepaint_render_requests_total'), { '': 14 })
    const buckets = await values('prepaint_render_seconds_bucket')
    assert.deepEqual([buckets['le="0.25",outcome="blank"'], buckets['le="0.5",outcome="blank"']], [0, 1])
  })

  it('say which browsers there are', async () => {
    const { metrics, value } = world()
    metrics.render.watches({ healthy: false, browsers: { alive: 2, started: 9 } })
    const names = ['browser_up', 'browsers', 'browsers_started_total']
    assert.deepEqual(await Promise.all(names.map((name) => value(`prepaint_${name}`))), [0, 2, 9])
  })
})

describe('metrics of the fleet', () => {
  it('are what PostgreSQL says', async () => {
    const { values, value } = world()
    assert.deepEqual(await values('prepaint_queue_jobs'), { 'priority="live"': 3 })
    assert.equal(await value('prepaint_jobs_running'), 2)
    assert.equal(await value('prepaint_certificate_soonest_end_seconds'), 86_400)
    const ranges = QUOTA_RANGES.map((used, at) => [`used="${used}"`, [5, 4, 3, 1][at]])
    assert.deepEqual(await values('prepaint_domains'), Object.fromEntries(ranges))
  })

  it('are read once in five seconds, absent while PostgreSQL is away, and come back', async () => {
    let away = false
    const { metrics, values, state, faults } = world({ fails: () => away })
    await Promise.all([metrics.text(), metrics.text()])
    state.nowMs = 4_999
    await metrics.text()
    assert.equal(state.reads, 1)
    away = true
    state.nowMs = 5_000
    assert.deepEqual(await values('prepaint_jobs_running'), {})
    assert.deepEqual(await values('prepaint_build_info'), { 'version="1.2.3"': 1 })
    assert.equal(faults.length, 1)
    away = false
    state.nowMs += 5_000
    assert.deepEqual(await values('prepaint_jobs_running'), { '': 2 })
  })
})

it('metrics of the node: connections, notifications, memory, the process', async () => {
  const { metrics, value, values } = world()
  let pages = 1
  metrics.edge.holds(() => ({ pages, bytes: 10 * pages }))
  assert.equal(await value('prepaint_edge_pages_in_memory'), 1)
  pages = 2
  assert.equal(await value('prepaint_edge_memory_bytes'), 20)
  const connections = { 'state="in_use"': 3, 'state="idle"': 2, 'state="waiting"': 7 }
  assert.deepEqual(await values('prepaint_database_connections'), connections)
  assert.deepEqual(await values('prepaint_listener_connected'), { '': 1 })
  assert((await values('prepaint_tree_memory_bytes'))['part="node"']! > 10_000_000)
  assert((await values('process_cpu_seconds_total'))['']! > 0)
})

const MONTH = '2026-11-01'
const LIMITS = { starter: 100, pro: 1_000 }

const database = await openTestDatabase()

it('the queue by priority, the head of each line, and the domains by their month', async () => {
  const { pool } = database
  await pool.query(
    `insert into account (email, plan) values ('a@example.com', 'starter'), ('b@example.com', 'pro')`,
  )
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select a.id, 'd' || n || '.' || a.plan || '.example', 'https://o.example' from account a, generate_series(1, 5) n`,
  )
  const domain = (name: string) => `(select id from domain where custom_domain = '${name}')`
  const one = domain('d1.pro.example')
  await pool.query(
    `insert into render_count (domain_id, month, renders) values
      (${domain('d1.starter.example')}, '${MONTH}', 79), (${domain('d2.starter.example')}, '${MONTH}', 80),
      (${domain('d3.starter.example')}, '${MONTH}', 100), (${domain('d4.starter.example')}, '${MONTH}', 120),
      (${one}, '${MONTH}', 120), (${one}, '2026-10-01', 9999)`,
  )
  await pool.query(
    `insert into job (account_id, domain_id, path, priority, turn, created_at, run_at, state)
     select domain.account_id, job.* from domain join (values
      (${one}, '/1', 0, 1, now() - interval '10 seconds', now(), 'queued'),
      (${one}, '/2', 0, 2, now() - interval '30 seconds', now(), 'queued'),
      (${one}, '/3', 0, 3, now() - interval '70 seconds', now() + interval '1 hour', 'queued'),
      (${one}, '/4', 2, 1, now(), now(), 'queued'),
      (${one}, '/5', 0, 1, now(), now(), 'running')
     ) job (domain_id, path, priority, turn, created_at, run_at, state) on domain.id = job.domain_id`,
  )
  const { queue, running, quota, rendersThisMonth } = await readFleetFigures(pool, MONTH, LIMITS)
  assert.deepEqual(
    queue.map(({ priority, queued }) => `${priority} ${queued}`),
    ['live 3', 'refresh 0', 'warm 1'],
  )
  // The one whose back-off goes on is not next.
  assert(queue[0]!.headAgeSeconds >= 30 && queue[0]!.headAgeSeconds < 60)
  assert.equal(running, 1)
  assert.deepEqual(quota, { under_80: 2, '80_to_100': 1, '100_to_120': 1, '120': 1 })
  assert.equal(rendersThisMonth, 79 + 80 + 100 + 120 + 120)
})

it('nodes by their state; certificates of active domains: the first that ends, and orders that fail', async () => {
  const { pool } = database
  await pool.query(
    `insert into node (id, host, version, roles, slots, running, cores, load, memory_bytes, browser, schema, draining, seen_at)
     select name, 'h', '1', '{}', 0, 0, 1, 0, 0, 'none', '', drains, clock_timestamp() - silent * interval '1 second'
       from (values ('a', false, 14), ('b', true, 0), ('c', false, 16)) n (name, drains, silent)`,
  )
  await pool.query(
    `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
     select id, 'own', '', '', now(), now() + make_interval(days => case custom_domain
              when 'd1.pro.example' then 20 when 'd2.pro.example' then 10 else 1 end)
       from domain where custom_domain like 'd_.pro.example'`,
  )
  await pool.query(`update domain set is_active = custom_domain in ('d1.pro.example', 'd2.pro.example')`)
  await pool.query(
    `update certificate_order set failures = 3 from domain d
      where d.id = domain_id and d.custom_domain in ('d1.pro.example', 'd3.pro.example')`,
  )
  const { nodes, certificates } = await readFleetFigures(pool, MONTH, LIMITS)
  assert.deepEqual(nodes, { serving: 1, draining: 1, dead: 1 })
  const { stored, soonestEndSeconds, failing } = certificates
  assert.deepEqual([stored, failing, Math.round(soonestEndSeconds! / 86_400)], [2, 1, 10])
  await pool.query(`update certificate set not_after = now() - interval '1 day'`)
  assert.equal((await readFleetFigures(pool, MONTH, LIMITS)).certificates.soonestEndSeconds, 0)
})

it('the memory of a process counts with that of its children, and their children', async () => {
  const before = treeMemory().node
  assert(before > 10_000_000)
  // 64 MB in a grandchild: the shell waits for it.
  const holds = `const held = Buffer.alloc(64e6, 1); console.log('there'); setInterval(() => held, 1e6)`
  const child = spawn('sh', ['-c', `"${process.execPath}" -e "${holds}"; true`], {
    ...{ stdio: ['ignore', 'pipe', 'inherit'], detached: true },
  })
  try {
    await once(child.stdout, 'data')
    const seen = treeMemory()
    assert(seen.node > before + 64_000_000, `${before} -> ${seen.node}`)
    assert.deepEqual([seen.browsers, seen.database], [0, 0])
    assert.deepEqual(treeMemory(2 ** 30), { node: 0, browsers: 0, database: 0 }, 'of a process that is gone')
  } finally {
    process.kill(-child.pid!, 'SIGKILL')
    await once(child, 'exit')
  }
})
