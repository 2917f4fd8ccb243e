import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { it } from 'node:test'
import { parseMasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { startTestAcme } from '../../../test/support/acme-server.ts'
import { testCommands } from '../../../test/support/commands.ts'
import { openFolder } from '../../../test/support/folder.ts'
import { serve } from '../../../test/support/loopback.ts'
import { type CheckResult, dataDirectory, memory, nodeVersion } from './machine.ts'
import { acmeDirectory, masterKey, portFree } from './services.ts'

const folder = openFolder()
const { run } = testCommands({
  DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none',
  PREPAINT_DATA_DIR: folder,
  PREPAINT_CHROMIUM: '/nonexistent/chromium',
  PREPAINT_API_PORT: '0',
  PREPAINT_EDGE_PORT: '0',
})
const doctor = async (settings: Record<string, string>) => {
  const { code, json } = await run('doctor', settings)
  return { code, checks: json['checks'] as CheckResult[] }
}

it('doctor ends with 1 on a problem, and says what to do about it, without secrets', async () => {
  const { port, close } = await serve(() => {})
  const { code, checks } = await doctor({ PREPAINT_API_PORT: String(port) })
  await close()
  assert.equal(code, 1)
  const problems = checks.filter(({ state }) => state === 'problem')
  const names = problems.map(({ name }) => name).join(', ')
  assert.equal(names, `PostgreSQL (DATABASE_URL), Chromium, port ${port} (PREPAINT_API_PORT)`)
  for (const { advice } of problems) assert.ok(advice)
  assert.doesNotMatch(JSON.stringify(checks), /secret/)
})

it('doctor asks for what the roles need, and for nothing else', async () => {
  const names = async (PREPAINT_ROLES: string) =>
    (await doctor({ PREPAINT_ROLES })).checks.map(({ name }) => name).join(', ')
  const common = 'Node, memory, data directory, disk, PostgreSQL (DATABASE_URL)'
  const ports = 'PREPAINT_API_PORT, PREPAINT_EDGE_PORT, PREPAINT_EDGE_TLS_PORT'
  assert.equal(await names('api'), `${common}, PREPAINT_API_PORT, master key`)
  assert.equal(await names('render'), `${common}, Chromium, user namespaces, PREPAINT_API_PORT, master key`)
  assert.equal(await names('edge'), `${common}, ${ports}, certificates (ACME), master key`)
})

it('Node: at the oldest version, and one before it', () =>
  assert.deepEqual([nodeVersion('24.0.0').state, nodeVersion('22.9.0').state], ['ok', 'problem']))

it('memory: at its limits and one past them', () => {
  const states = (slots: number, ...mibs: number[]) => mibs.map((mib) => memory(mib * 2 ** 20, slots).state)
  assert.deepEqual(states(2, 399, 400, 999, 1_000), ['problem', 'warning', 'warning', 'ok'])
  assert.deepEqual(states(0, 255, 256), ['problem', 'ok'])
})

it('the data directory: there, still to be made, or open to others', () => {
  assert.equal(dataDirectory(folder).state, 'ok')
  assert.equal(dataDirectory(`${folder}/later/still`).state, 'ok')
  chmodSync(folder, 0o777)
  assert.equal(dataDirectory(folder).state, 'problem')
})

it('a port: free, or not ours to have', async () => {
  const where = { host: '127.0.0.1', setting: 'PREPAINT_API' }
  assert.equal((await portFree({ ...where, port: 0 })).state, 'ok')
  const elsewhere = await portFree({ ...where, host: '192.0.2.1', port: 4_000 })
  assert.equal(elsewhere.state, 'problem')
  assert.match(elsewhere.advice ?? '', /PREPAINT_API_HOST/)
})

it('the CA: off, there, without an address for trouble, no CA at all, or away', async () => {
  const acme = await startTestAcme({ http: 1, tls: 1 })
  const look = (directory: string | null, email: string | null = 'me@example.com') =>
    acmeDirectory({ version: '1', acme: { directory, email, selfCheck: true, ordersPerHour: 1 } }, acme.ca)
  assert.equal((await look(null)).state, 'ok')
  assert.equal((await look(acme.directoryUrl)).state, 'ok')
  assert.equal((await look(acme.directoryUrl, null)).state, 'warning')
  const nonce = await look(acme.directoryUrl.replace('/dir', '/nonce'))
  assert.match(nonce.found, /is not the directory of a CA/)
  await acme.close()
  const away = await look(acme.directoryUrl)
  assert.equal(away.state, 'problem')
  assert.match(away.advice ?? '', /PREPAINT_ACME_DIRECTORY/)
})

it('the master key: its own file is enough for one node alone', () => {
  const secretKeys = parseMasterKeys(Buffer.alloc(32).toString('base64'))
  assert.equal(masterKey({ secretKeys: null, databaseUrl: null }).state, 'ok')
  assert.equal(masterKey({ secretKeys: null, databaseUrl: 'postgres://x' }).state, 'warning')
  assert.equal(masterKey({ secretKeys, databaseUrl: 'postgres://x' }).state, 'ok')
})
