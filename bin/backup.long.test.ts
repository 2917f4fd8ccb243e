import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { type Client, domainClient, keyClient, type Stage } from '../test/chaos/clients.ts'
import { openLedger, reckon } from '../test/chaos/ledger.ts'
import { seededRandom } from '../test/chaos/seeded-random.ts'
import { startVersionOrigin } from '../test/chaos/version-origin.ts'
import { runJson } from '../test/support/command-line.ts'
import { until } from '../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { testDatabase } from '../test/support/database.ts'
import { edgeRequest, GOOGLEBOT } from '../test/support/edge-request.ts'
import { openFolder } from '../test/support/folder.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../test/support/tenant.ts'
import { runCommandLine } from './command-line/run.ts'

const EMAIL = 'backup@example.com'

const folder = openFolder()
const file = path.join(folder, 'all.backup')
const [dataDir, newDir] = [makeDataDir(), makeDataDir()]
// Neither a browser nor an edge is needed for what is looked at here.
const settings = { PREPAINT_ROLES: 'edge,api' }
const origin = await startVersionOrigin()
let node = await startNodeProcess(dataDir, settings)
const { key } = await openAccount(node, { email: EMAIL, plan: 'enterprise' })
after(async () => {
  if (node.running) await node.stop()
  const left = (await Promise.all([dataDir, newDir].map(clearDataDir))).flat()
  await origin.close()
  assert.deepEqual(left, [])
})

const command = (args: string[], dir: string) =>
  runJson(args, { ...settings, PREPAINT_DATA_DIR: dir, PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' })
// Proves decided "Backup"
it('a backup that is made under load holds everything that was acknowledged before it, and a new folder serves it', async (t) => {
  await registerDomain(node, key, { customDomain: 'kept.example', originUrl: origin.url })
  const ledger = openLedger()
  const stage: Stage = { node, disturbed: false, email: EMAIL, key, origin, ledger }
  let isWritten = false
  let isEnough = false
  const lives = (entries: readonly { standing: string }[]) =>
    entries.filter(({ standing }) => standing === 'there').length
  const act = async (client: Client, isOver: () => boolean) => {
    while (!isOver()) await client(stage)
  }
  // Two end before the backup begins: what they have been told is to be in it. One goes on while it is written.
  const before = Promise.all(
    [domainClient(1, seededRandom(1)), keyClient(seededRandom(3))].map((client) =>
      act(client, () => isEnough),
    ),
  )
  const during = act(domainClient(2, seededRandom(2)), () => isWritten)
  // However it goes, nobody acts on for ever.
  t.after(() => {
    isEnough = true
    isWritten = true
  })
  const early = () => ledger.domains.filter(({ name }) => name.endsWith('.client1.example'))
  await until('there is something to keep', () => lives(early()) > 1 && lives(ledger.keys) > 0, 120_000)
  isEnough = true
  await before
  const expected = {
    ...openLedger(),
    domains: early().map((domain) => ({ ...domain })),
    keys: ledger.keys.map((entry) => ({ ...entry })),
  }
  assert.ok(lives(expected.domains) > 0 && lives(expected.keys) > 0)
  const made = await command(['backup', file], dataDir)
  assert.equal(made.code, 0, JSON.stringify(made.json))
  isWritten = true
  await during
  assert.deepEqual(ledger.violations, [])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(await node.stop(), 0)

  const restored = await command(['restore', file], newDir)
  assert.equal(restored.code, 0, JSON.stringify(restored.json))
  node = await startNodeProcess(newDir, settings)
  assert.deepEqual(await reckon(expected, node, key, Number.NEGATIVE_INFINITY), [])
  // And it is a whole database: what is new gets numbers that were not given before.
  await registerDomain(node, key, { customDomain: 'new.example', originUrl: origin.url })
  assert.equal((await callApi(node, key, { method: 'GET', path: '/api/domains/kept.example' })).status, 200)
  const passed = await edgeRequest(node.edge, {
    host: 'kept.example',
    path: '/x',
    userAgent: GOOGLEBOT,
    timeoutMs: 60_000,
  })
  assert.equal(passed.status, 200)
  await node.stop()
})

it('a backup is not restored from a file that cannot be read', async (t) => {
  // In this process and on one server: a private database would have to be made and started.
  const empty = await testDatabase({ empty: true })
  t.after(() => empty.close())
  const restore = (name: string) =>
    runCommandLine(['restore', name, '--json'], { DATABASE_URL: empty.url, PREPAINT_DATA_DIR: folder })
  const broken = path.join(folder, 'broken')
  const whole = readFileSync(file)
  const changed = Buffer.from(whole)
  changed[Math.floor(changed.length / 2)]! ^= 0xff
  for (const [content, words] of [
    [null, /cannot be read as a backup: ENOENT/],
    [whole.subarray(0, whole.length - 100), /cannot be read|is incomplete/],
    [changed, /cannot be read|damaged|invalid|is incomplete/],
    ['no backup', /cannot be read as a backup/],
  ] as const) {
    if (content !== null) writeFileSync(broken, content)
    const result = await restore(broken)
    assert.equal(result?.exitCode, 1)
    assert.match(String(result?.json['error']), words)
  }
  // Nothing is there: the whole one still goes in.
  const restored = await restore(file)
  assert.equal(restored?.exitCode ?? 0, 0, JSON.stringify(restored?.json))
})
