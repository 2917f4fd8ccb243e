import assert from 'node:assert/strict'
import { it } from 'node:test'
import { lastMigration } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { notifiedBy, openTestDatabase } from '../../../../../test/support/database.ts'
import { type NodePulse, type NodeSelf, readFleet } from './node.ts'
import { Registration } from './registration.ts'

const database = await openTestDatabase()
const { pool } = database
const log = silentLog()

const self = (id: string): NodeSelf => ({
  id,
  host: 'amber',
  version: '1.2.3',
  roles: ['edge', 'render'],
  cores: 2,
  slots: 3,
  schema: lastMigration(),
})
const quiet: NodePulse = {
  draining: false,
  running: 0,
  load: 0.5,
  memoryBytes: 3e9,
  browser: 'ok',
  browsers: { alive: 1, started: 4 },
}

/** Registers a node that beats only when it is told to. */
const join = (id: string, pulse = () => quiet) =>
  Registration.start(pool, log, self(id), pulse, 'node_died', { beatMs: 600_000 })

/** As if the node had last been heard of so long ago. */
async function silence(id: string, seconds: number): Promise<void> {
  const sql = `update node set seen_at = clock_timestamp() - $2 * interval '1 second' where id = $1`
  await pool.query(sql, [id, seconds])
}

const listed = async () => (await readFleet(pool)).nodes
const stateOf = async (id: string) => (await listed()).find((node) => node.id === id)?.state ?? 'absent'

it('a node is listed with its last pulse from its start until it closes', async () => {
  let pulse = quiet
  const node = await join('one', () => pulse)
  const [found] = await listed()
  const { started_at, seen_at, ...rest } = found!
  assert.deepEqual(rest, {
    ...self('one'),
    api_port: null,
    state: 'serving',
    running: 0,
    load: 0.5,
    memory_bytes: 3e9,
    browsers: 1,
    browsers_started: 4,
    browser: 'ok',
  })
  assert.equal((await readFleet(pool)).schema, lastMigration())

  pulse = { apiPort: 3000, draining: true, running: 2, load: 1, memoryBytes: 5.4, browser: 'broken' }
  await silence('one', 10)
  await node.beat()
  const [later] = await listed()
  const said = { api_port: 3000, state: 'draining', running: 2, browser: 'broken', memory_bytes: 5 }
  assert.partialDeepStrictEqual(later, { ...said, started_at })
  assert(later!.seen_at >= seen_at)
  await node.close()
  assert.deepEqual(await listed(), [])
})

it('a node is dead after three missed beats, lives again with the next beat, and is removed after ten minutes', async () => {
  const node = await join('silent')
  const other = await join('other')
  await silence('silent', 14)
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
  assert.equal((await pool.query(`select from node where id = 'silent'`)).rowCount, 0)
  // It was only away: it comes back as what it was.
  await node.beat()
  assert.equal(await stateOf('silent'), 'serving')
  await Promise.all([node.close(), other.close()])
})

it('a node learns of a breaking migration that it does not know, and of no other migration', async () => {
  const node = await join('outdated')
  // A beat that PostgreSQL does not take fails nothing.
  await pool.query('alter table node rename to elsewhere')
  await node.beat()
  await pool.query('alter table elsewhere rename to node')
  let told: string | null = null
  void node.outdated.then((name) => {
    told = name
  })
  const apply = (name: string, breaking: boolean) =>
    pool.query(`insert into schema_migration values ($1, '', default, $2)`, [name, breaking])
  await apply('9001-adds.sql', false)
  await node.beat()
  assert.equal(told, null)
  await apply('9002-breaks.sql', true)
  await node.beat()
  assert.equal(await node.outdated, '9002-breaks.sql')
  await node.close()
})

it('the death of a node is told once by each other node, and neither that of a draining one nor a missed beat is', async () => {
  const [witness, dies, drains, misses] = [
    await join('witness'),
    await join('dies'),
    await join('drains', () => ({ ...quiet, draining: true })),
    await join('misses'),
  ]
  const heard = await notifiedBy(database, ['node_died'], async () => {
    await silence('dies', 15.1)
    await silence('drains', 15.1)
    await silence('misses', 14)
    await witness.beat()
    await witness.beat()
  })
  assert.deepEqual(heard, ['dies'])
  const again = await notifiedBy(database, ['node_died'], async () => {
    await dies.beat()
    await witness.beat()
    await silence('dies', 15.1)
    await witness.beat()
  })
  assert.deepEqual(again, ['dies'], 'it lived again meanwhile')
  for (const node of [witness, dies, drains, misses]) await node.close()
})

it('a death that could not be told is told with the next beat', async (t) => {
  const [witness, dies] = [await join('witness'), await join('dies')]
  await silence('dies', 15.1)
  const query = t.mock.method(pool, 'query')
  query.mock.mockImplementationOnce(() => Promise.reject(new Error('away')), 1)
  const heard = await notifiedBy(database, ['node_died'], async () => {
    await witness.beat()
    await witness.beat()
    await witness.beat()
  })
  assert.deepEqual(heard, ['dies'])
  query.mock.restore()
  for (const node of [witness, dies]) await node.close()
})
