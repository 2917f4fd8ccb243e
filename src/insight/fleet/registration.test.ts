import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openTestDatabase } from '../../../test/support/database.ts'
import { lastMigration } from '../../db/migrate.ts'
import { silentLog } from '../../log.ts'
import { type NodePulse, readFleet } from './node.ts'
import { startRegistration } from './registration.ts'

const database = await openTestDatabase()

const self = (id: string) => ({
  ...{ id, host: 'amber', version: '1.2.3', roles: ['edge', 'render'] },
  ...{ cores: 2, slots: 3, schema: lastMigration() },
})
const quiet: NodePulse = {
  ...{ draining: false, running: 0, load: 0.5, memoryBytes: 3e9 },
  ...{ browser: 'ok', browsers: { alive: 1, started: 4 } },
}

async function join(id: string, pulse: () => NodePulse = () => quiet) {
  return startRegistration({ pool: database.pool, log: silentLog(), pulse }, self(id), { beatMs: 600_000 })
}

/** As if the node had last been heard of so long ago. */
async function silence(id: string, seconds: number): Promise<void> {
  const sql = `update node set seen_at = clock_timestamp() - $2 * interval '1 second' where id = $1`
  await database.pool.query(sql, [id, seconds])
}

const listed = async () => (await readFleet(database.pool)).nodes
const stateOf = async (id: string) => (await listed()).find((node) => node.id === id)?.state ?? 'absent'

it('a node is listed with what it says, from its start to its end', async () => {
  let pulse = quiet
  const node = await join('one', () => pulse)
  const [found] = await listed()
  assert.ok(found)
  const { started_at, seen_at, ...rest } = found
  assert.deepEqual(rest, {
    ...self('one'),
    ...{ api_port: null, state: 'serving', running: 0, load: 0.5, memory_bytes: 3e9 },
    ...{ browsers: 1, browsers_started: 4, browser: 'ok' },
  })
  assert.equal((await readFleet(database.pool)).schema, lastMigration())

  pulse = { apiPort: 3000, draining: true, running: 2, load: 1, memoryBytes: 5.4, browser: 'broken' }
  await silence('one', 10)
  await node.beat()
  const [later] = await listed()
  const { state, running, browser, memory_bytes } = later!
  assert.deepEqual([state, running, browser, memory_bytes], ['draining', 2, 'broken', 5])
  assert.equal(later!.started_at, started_at)
  assert.ok(Date.parse(later!.seen_at) >= Date.parse(seen_at))

  await node.close()
  assert.deepEqual(await listed(), [])
})

it('after three missed beats a node is dead; it lives again with the next; after ten minutes it is gone', async () => {
  const node = await join('silent')
  const other = await join('other')
  await silence('silent', 10)
  assert.equal(await stateOf('silent'), 'serving')
  await silence('silent', 15.1)
  assert.equal(await stateOf('silent'), 'dead')
  await node.beat()
  assert.equal(await stateOf('silent'), 'serving')

  await silence('silent', 570)
  await other.beat()
  assert.equal(await stateOf('silent'), 'dead')
  await silence('silent', 601)
  assert.equal(await stateOf('silent'), 'absent')
  await other.beat()
  const { rowCount } = await database.pool.query(`select from node where id = 'silent'`)
  assert.equal(rowCount, 0)
  // It was only away: it comes back as what it was.
  await node.beat()
  assert.equal(await stateOf('silent'), 'serving')
  await Promise.all([node.close(), other.close()])
})

it('a beat that PostgreSQL does not take fails nobody', async () => {
  const node = await join('unheard')
  await database.pool.query('alter table node rename to elsewhere')
  await node.beat()
  await database.pool.query('alter table elsewhere rename to node')
  await node.beat()
  assert.equal(await stateOf('unheard'), 'serving')
  await node.close()
})

it('a node learns of a migration that it cannot work with, and of no other', async () => {
  const node = await join('outdated')
  let told: string | null = null
  void node.outdated.then((name) => {
    told = name
  })
  const apply = (name: string, breaking: boolean) =>
    database.pool.query(`insert into schema_migration (name, checksum, breaking) values ($1, '', $2)`, [
      ...[name, breaking],
    ])
  await apply('9001-adds.sql', false)
  await node.beat()
  assert.equal(told, null)
  await apply('9002-breaks.sql', true)
  await node.beat()
  assert.equal(await node.outdated, '9002-breaks.sql')
  await node.close()
})
