import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { createListener, type Listener } from '../db/listener.ts'
import type { DomainId } from '../ids.ts'
import { silentLog } from '../log.ts'
import { notifyVisited, parseVisited, VISITED_CHANNEL } from './last-visits.ts'

let database: TestDatabase
let listener: Listener
before(async () => {
  database = await testDatabase()
  listener = await createListener(database.connection, silentLog())
})
after(async () => {
  await listener.close()
  await database.close()
})

// Proves decided "Events of visits"
it('any number of domains is told, each once, 500 at a time', async () => {
  const told: string[] = []
  const { promise: all, resolve } = Promise.withResolvers<void>()
  listener.on(VISITED_CHANNEL, (payload) => {
    if (payload === '9') resolve()
    else told.push(payload)
  })
  await listener.settled()
  const ids = Array.from({ length: 1_001 }, (_, at) => (2_147_482_000 + at) as DomainId)
  await notifyVisited(database.pool, [])
  await notifyVisited(database.pool, [...ids, ...ids])
  await notifyVisited(database.pool, [9 as DomainId])
  await all
  const parts = told.map((payload) => parseVisited(payload)!)
  assert.deepEqual(parts.map(({ length }) => length).sort(), [1, 500, 500].sort())
  assert.deepEqual(parts.flat().sort(), ids)
})

it('what is no list of ids is none of this version', () => {
  assert.deepEqual(parseVisited('1,20'), [1, 20])
  for (const payload of ['', ',', '1,', 'x', '1;2', '-1']) assert.equal(parseVisited(payload), null, payload)
})
