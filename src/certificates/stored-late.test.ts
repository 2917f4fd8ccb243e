import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { startTestAcme, type TestAcmeServer } from '../../test/support/acme-server.ts'
import { type TestFleet, type TestNode, testFleet } from '../../test/support/certificate-fleet.ts'
import { until } from '../../test/support/condition.ts'
import { silentLog } from '../log.ts'

let fleet: TestFleet
let node: TestNode
let acme: TestAcmeServer
before(async () => {
  fleet = await testFleet()
  node = await fleet.node()
  acme = await startTestAcme(node.ports)
})
after(async () => {
  await fleet.close()
  await acme.close()
})

it('what was issued while the database could not take it is stored a moment later, without another order', async () => {
  const { pool } = fleet
  acme.beforeJudging = async () => {
    await pool.query('alter table certificate rename to put_away')
  }
  const said: string[] = []
  const log = Object.assign(silentLog(), { warn: (_: unknown, words: string) => said.push(words) })
  node.order(acme, { log }, { pollMs: 600_000 })
  await fleet.addDomain('late.example')
  await until('it could not be stored', async () =>
    said.includes('a new certificate could not be stored yet'),
  )
  await pool.query('alter table put_away rename to certificate')
  await until('it is stored', async () => (await fleet.view('late.example')).certificate)
  assert.deepEqual(acme.orders, ['late.example'])
})
