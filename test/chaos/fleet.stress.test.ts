import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { MIGRATIONS, migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../bin/node/schema.ts'
import { runJson } from '../support/command-line.ts'
import { until as untilWithin } from '../support/condition.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { type Member, startFleet } from '../support/fleet.ts'
import { openFolder } from '../support/folder.ts'
import { callApi, openAccount, openKey, registerDomain } from '../support/tenant.ts'
import { statusOf } from './clients.ts'
import { fleetRun } from './fleet-run.ts'
import { shownIn, startVersionOrigin } from './version-origin.ts'

/** The clocks of their machines are twenty minutes apart. */
const AHEAD_MS = 600_000
const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 60_000)
const EMAIL = 'owner@example.com'

/** The same with more nodes and for longer: `node bench/fleet.ts --seed N`. */
const folder = openFolder()
const origin = await startVersionOrigin()
const fleet = await startFleet([AHEAD_MS, -AHEAD_MS].map((clockAheadMs) => ({ clockAheadMs })))
const first = fleet.members[0]!.process
const { key } = await openAccount(first, { email: EMAIL, plan: 'enterprise' })
await registerDomain(first, key, { customDomain: 'site.example', originUrl: origin.url })
const create = ['token', 'create', '--domain', 'site.example', '--name', 'test']
const token = String((await runJson(create, first.settings)).json['token'])
after(async () => {
  const left = await fleet.close()
  await origin.close()
  assert.deepEqual(left, [])
})

const crawl = ({ process }: Member, path: string, userAgent = GOOGLEBOT) =>
  edgeRequest(process.edge, { host: 'site.example', path, userAgent })
/** A webhook that fails validation: it counts in the window, and uses up no renders. */
async function refresh({ process }: Member) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ urls: ['no path'] })
  const answer = await fetch(`${process.api}/api/webhook/refresh`, { method: 'POST', headers, body })
  return { status: answer.status, retryAfter: Number(answer.headers.get('retry-after')) }
}
const ready = async ({ process }: Member) => {
  const answer = await fetch(`${process.api}/readyz`)
  return { status: answer.status, ...((await answer.json()) as { database: string; error?: string }) }
}
/** A page that was never stored before. Where its first crawler was not given it in time, the next one has it from the store. */
const rendered = (at: string, member: Member) =>
  until(`${at} is rendered`, async () => ['rendered', 'hit'].includes((await crawl(member, at)).verdict))

/** Memory keeps what is read while notifications arrive: a hit before that is only read from the database. */
const kept = (member: Member, at: string) =>
  until(`${at} is in memory`, async () => {
    const metrics = await (await fetch(`${member.process.api}/metrics`)).text()
    if (!metrics.includes('prepaint_listener_connected 1')) return false
    for (let asked = 0; asked < 4; asked++) if ((await crawl(member, at)).verdict !== 'hit') return false
    return true
  })

// Proves decided "Clocks"
it('ages, windows and ends go by the clock of the database, not by those of the machines', async () => {
  const [fast, slow] = fleet.members as [Member, Member]
  await rendered('/aged', slow)
  await rendered('/aged-more', fast)
  for (const member of [fast, slow]) {
    for (const at of ['/aged', '/aged-more']) {
      const { verdict, headers } = await crawl(member, at)
      assert(verdict === 'hit' && Number(headers['age']) < 120, `${verdict} ${headers['age']}`)
    }
  }
  // Five minutes before the end of its fresh time, and one minute after it: an hour by their own clocks could hide both.
  const body = { settings: { fresh_seconds: 3_600 } }
  const put = await callApi(fast.process, key, { method: 'PUT', path: '/api/domains/site.example', body })
  assert.equal(put.status, 200)
  const setAge = async (at: string, seconds: number) => {
    const { rows } = await fleet.pool.query<{ id: number }>(
      `update page set rendered_at = clock_timestamp() - $2 * interval '1 second' where path = $1 returning domain_id as id`,
      [at, seconds],
    )
    await fleet.pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ domain: rows[0]!.id })])
  }
  await setAge('/aged', 3_300)
  for (const member of [fast, slow]) assert.equal((await crawl(member, '/aged')).verdict, 'hit')
  for (const member of [fast, slow]) {
    await until('it is stale', async () => {
      // The first to find it stale has it refreshed.
      await setAge('/aged-more', 3_660)
      return (await crawl(member, '/aged-more')).verdict === 'stale'
    })
  }

  for (let asked = 0; asked < 10; asked++) {
    assert.equal((await refresh([fast, slow][asked % 2]!)).status, 400)
  }
  for (const member of [fast, slow]) {
    const { status, retryAfter } = await refresh(member)
    assert.equal(status, 429)
    assert.ok(retryAfter > 3_300 && retryAfter <= 3_600, String(retryAfter))
  }

  const ends = await openKey(fast.process, EMAIL, 'ends')
  const expire = (seconds: number) =>
    fleet.pool.query(
      `update api_key set expires_at = clock_timestamp() + $1 * interval '1 second' where name = 'ends'`,
      [seconds],
    )
  await expire(120)
  for (const { process } of [fast, slow]) assert.equal(await statusOf(process, ends), 200)
  await expire(-120)
  for (const { process } of [fast, slow]) assert.equal(await statusOf(process, ends), 401)
})

// Proves decided "PostgreSQL failure"
it('while PostgreSQL is stopped, hits go on, people pass and the API answers 503; then all is as before', async () => {
  const [one] = fleet.members as [Member]
  for (const member of fleet.members) await kept(member, '/aged')
  await fleet.server.stop()
  for (const member of fleet.members) await suffers(member)
  await fleet.server.start()
  for (const member of fleet.members) await healed(member)
  await rendered('/after-the-stop', one)
})

// Proves decided "PostgreSQL failure"
it('while the network of a node swallows everything, it does the same, and keeps nobody waiting', async (t) => {
  const [one, two] = fleet.members as [Member, Member]
  await kept(one, '/aged')
  t.after(() => one.network.set('through'))
  one.network.set('swallow')
  await suffers(one)
  // The other does not notice, and what it is told is true at the first one, too, when it is back.
  assert.equal(await statusOf(two.process, key), 200)
  const body = { domain: 'site.example', path: '/aged' }
  const purged = await callApi(two.process, key, { method: 'POST', path: '/api/cache/purge', body })
  assert.equal(purged.status, 200)
  one.network.set('through')
  await healed(one)
  const version = origin.change()
  await until(
    'the purge has reached it',
    async () => shownIn((await crawl(one, '/aged')).body.toString())?.version === version,
  )
})

it('while PostgreSQL has no room on its disk, what is stored is served, misses pass and changes are refused', async () => {
  const [one] = fleet.members as [Member]
  await rendered('/roomy', one)
  // What PostgreSQL says then, of every row that is to be written.
  const tables = ['job', 'page', 'domain']
  await fleet.pool.query(`
    create function no_room() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
    ${tables.map((table) => `create trigger no_room before insert on ${table} execute function no_room();`).join('\n')}`)
  for (const member of fleet.members) {
    await until('what is stored is served', async () => (await crawl(member, '/roomy')).verdict === 'hit')
    const missed = await crawl(member, '/no-room')
    assert.deepEqual([missed.status, missed.verdict], [200, 'pass; database'])
    assert.equal((await crawl(member, '/no-room', PERSON)).status, 200)
    const body = { custom_domain: 'no-room.example', origin_url: origin.url }
    const refused = await callApi(member.process, key, { method: 'POST', path: '/api/domains', body })
    assert.deepEqual(
      [refused.status, refused.body],
      [503, { error: 'Database is unavailable, try again later' }],
    )
    assert.equal(await statusOf(member.process, key), 200)
  }
  await fleet.pool.query(tables.map((table) => `drop trigger no_room on ${table};`).join('\n'))
  await rendered('/no-room', one)
})

async function suffers(member: Member): Promise<void> {
  const { process } = member
  const told = await until('it says that it is not ready', async () => {
    const found = await ready(member)
    return found.status === 503 ? found : null
  })
  assert.equal(told.database, 'unreachable')
  assert.equal((await fetch(`${process.api}/healthz`)).status, 200)
  // The first question may find out for all others; from then on nobody waits.
  assert.equal(await statusOf(process, key), 503)
  const startedMs = performance.now()
  for (let times = 0; times < 5; times++) {
    assert.equal((await crawl(member, '/aged')).verdict, 'hit')
    const passed = await crawl(member, '/anything', PERSON)
    assert.deepEqual([passed.status, passed.verdict.split(';')[0]], [200, 'pass'])
    const missed = await crawl(member, `/unknown-${times}`)
    assert.deepEqual([missed.status, missed.verdict], [200, 'pass; database'])
    assert.equal(await statusOf(process, key), 503)
  }
  // One query to a silent server takes 45 seconds until it fails.
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs < 40_000, `${tookMs}`)
}

async function healed(member: Member): Promise<void> {
  await until('it is ready again', async () => (await ready(member)).status === 200)
  await until('the API answers again', async () => (await statusOf(member.process, key)) === 200)
  assert.equal(member.process.running, true)
}

it('kill -9 of nodes loses nothing that was acknowledged, and counts each render once', async (t) => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const run = await fleetRun(
    fleet,
    { email: EMAIL, key },
    { seed, seconds: 12, acknowledged: 10, origin, say: (line) => t.diagnostic(line) },
  )
  t.diagnostic(`seed ${seed} ${JSON.stringify(run.counts)}`)
  assert.deepEqual(run.violations, [], `seed ${seed}`)
  assert.ok(run.counts.kills > 0 && run.counts.acknowledged > 10, JSON.stringify(run.counts))
})

// Proves decided "Rolling upgrade"
it('an upgrade rolls: what it adds to the tables is survived under load, what breaks older nodes ends them', async () => {
  const migrations = path.join(folder, 'migrations')
  cpSync(MIGRATIONS, migrations, { recursive: true })
  const add = (name: string, sql: string) => writeFileSync(path.join(migrations, name), sql)
  const apply = () => migrate(fleet.server.connection, { ...SCHEMA, migrations }, silentLog())
  const columns = ['page', 'job', 'domain', 'account', 'api_key', 'webhook_window', 'render_count', 'node']
    .map((table) => `alter table ${table} add column added_later integer not null default 7;`)
    .join('\n')
  add('9001-adds.sql', `${columns}\ncreate table added_later (n integer);`)

  let asked = 0
  let isDone = false
  const wrong: string[] = []
  const traffic = fleet.members.map(async (member) => {
    while (!isDone) {
      const { status, verdict } = await crawl(member, `/rolling/${asked++}`)
      if (status !== 200 || verdict === 'pass; database') wrong.push(`${status} ${verdict}`)
      const answered = await statusOf(member.process, key)
      if (answered !== 200) wrong.push(`API ${answered}`)
    }
  })
  try {
    await rendered('/rolling/before', fleet.members[0]!)
    assert.deepEqual(await apply(), ['9001-adds.sql'])
    await rendered('/rolling/after', fleet.members[0]!)
  } finally {
    isDone = true
    await Promise.all(traffic)
  }
  // One that has to be started again during the upgrade is.
  await fleet.members[1]!.process.stop()
  await fleet.members[1]!.start()
  assert.match(fleet.members[1]!.process.log(), /the database is ahead of this version/)
  await rendered('/rolling/again', fleet.members[1]!)
  assert.deepEqual(wrong, [])

  add('9002-breaks.sql', '-- breaking: nobody could read pages any more\nalter table page rename to leaf;')
  await assert.rejects(apply(), /9002-breaks\.sql cannot be applied while older nodes run: stop .+ first/)
  // By force: they see it with their next beat, and end rather than work on tables that they do not understand.
  await fleet.pool.query(
    `insert into schema_migration (name, checksum, breaking) values ('9002-breaks.sql', '', true)`,
  )
  for (const { process } of fleet.members) {
    await until('the node has ended', () => !process.running)
    assert.equal(await process.stop(), 1, process.log())
    assert.match(process.log(), /"migration":"9002-breaks\.sql".*run that version/)
  }
  const newer = /made by a newer Prepaint: it has the migration 9002-breaks\.sql/
  await assert.rejects(fleet.members[0]!.start(), newer)
})
