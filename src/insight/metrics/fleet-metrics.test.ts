import assert from 'node:assert/strict'
import { it } from 'node:test'

import { openTestDatabase } from '../../../test/support/database.ts'
import { readFleetFigures } from './fleet-metrics.ts'

const MONTH = '2026-11-01'
const LIMITS = { starter: 100, pro: 1_000 }

const database = await openTestDatabase()

it('an empty fleet', async () => {
  assert.deepEqual(await readFleetFigures(database.pool, MONTH, LIMITS), {
    incidents: [],
    deliveries: { waiting: 0, oldestSeconds: 0 },
    queue: ['live', 'refresh', 'warm'].map((priority) => ({ priority, queued: 0, headAgeSeconds: 0 })),
    running: 0,
    quota: { under_80: 0, '80_to_100': 0, '100_to_120': 0, '120': 0 },
    rendersThisMonth: 0,
    certificates: { stored: 0, soonestEndSeconds: null, failing: 0 },
    nodes: { serving: 0, draining: 0, dead: 0 },
  })
})

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
  await pool.query(
    `insert into render_count (domain_id, month, renders) values
      (${domain('d1.starter.example')}, '${MONTH}', 79), (${domain('d2.starter.example')}, '${MONTH}', 80),
      (${domain('d3.starter.example')}, '${MONTH}', 100), (${domain('d4.starter.example')}, '${MONTH}', 120),
      (${domain('d1.pro.example')}, '${MONTH}', 120), (${domain('d1.pro.example')}, '2026-10-01', 9999)`,
  )
  const one = domain('d1.pro.example')
  await pool.query(
    `insert into job (account_id, domain_id, path, priority, turn, created_at, run_at, state)
     select domain.account_id, job.* from domain join (values
      (${one}, '/1', 0, 1, now() - interval '10 seconds', now(), 'queued'),
      (${one}, '/2', 0, 2, now() - interval '30 seconds', now(), 'queued'),
      (${one}, '/3', 0, 3, now() - interval '70 seconds', now() + interval '1 hour', 'queued'),
      (${one}, '/4', 2, 1, now(), now(), 'queued'),
      (${one}, '/5', 0, 1, now(), now(), 'running'),
      (${one}, '/6', 0, 1, now(), now(), 'done')
     ) job (domain_id, path, priority, turn, created_at, run_at, state) on domain.id = job.domain_id`,
  )
  const { queue, running, quota, rendersThisMonth } = await readFleetFigures(pool, MONTH, LIMITS)
  assert.deepEqual(
    queue.map(({ priority, queued }) => [priority, queued]),
    [
      ['live', 3],
      ['refresh', 0],
      ['warm', 1],
    ],
  )
  // The one whose back-off goes on is not next.
  assert(queue[0]!.headAgeSeconds >= 30 && queue[0]!.headAgeSeconds < 60)
  assert.equal(running, 1)
  assert.deepEqual(quota, { under_80: 2, '80_to_100': 1, '100_to_120': 1, '120': 1 })
  assert.equal(rendersThisMonth, 79 + 80 + 100 + 120 + 120)
})

it('nodes by their state', async () => {
  await database.pool.query(
    `insert into node (id, host, version, roles, slots, running, cores, load, memory_bytes, browser, schema, draining, seen_at)
     select name, 'h', '1', '{}', 0, 0, 1, 0, 0, 'none', '', drains, clock_timestamp() - silent * interval '1 second'
       from (values ('a', false, 0), ('b', true, 0), ('c', false, 14), ('d', false, 16), ('e', true, 100)) n (name, drains, silent)`,
  )
  const { nodes } = await readFleetFigures(database.pool, MONTH, LIMITS)
  assert.deepEqual(nodes, { serving: 2, draining: 1, dead: 2 })
})

it('certificates of active domains: the first that ends, and orders that fail', async () => {
  const { pool } = database
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
  const { stored, soonestEndSeconds, failing } = (await readFleetFigures(pool, MONTH, LIMITS)).certificates
  assert.deepEqual([stored, failing, Math.round(soonestEndSeconds! / 86_400)], [2, 1, 10])
  await pool.query(`update certificate set not_after = now() - interval '1 day'`)
  assert.equal((await readFleetFigures(pool, MONTH, LIMITS)).certificates.soonestEndSeconds, 0)
})
