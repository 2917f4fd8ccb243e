import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import tls from 'node:tls'
import { startTestAcme } from '../test/support/acme-server.ts'
import { runPrepaint } from '../test/support/command-line.ts'
import { until } from '../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { testDatabase } from '../test/support/database.ts'
import { type NodeProcess, startNodeProcess } from '../test/support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../test/support/tenant.ts'

// Whole nodes, as their operator has them: two on one database, each with a data directory of its own.
const dirs = [makeDataDir(), makeDataDir(), makeDataDir()] as const
const ports = { http: 0, tls: 0 }
const database = await testDatabase()
const acme = await startTestAcme(ports)
const roots = path.join(dirs[0], 'roots.pem')
writeFileSync(roots, acme.ca, { mode: 0o644 })
const settings = {
  DATABASE_URL: database.url,
  PREPAINT_ROLES: 'edge,api',
  PREPAINT_SECRET_KEY: randomBytes(32).toString('base64'),
  PREPAINT_ACME_DIRECTORY: acme.directoryUrl,
  PREPAINT_ACME_EMAIL: 'operator@example.com',
  PREPAINT_ACME_SELF_CHECK: '0',
  PREPAINT_LOG_LEVEL: 'info',
  NODE_EXTRA_CA_CERTS: roots,
}
const nodes: NodeProcess[] = []
for (const dir of dirs.slice(0, 2)) nodes.push(await startNodeProcess(dir, settings))
ports.http = Number(new URL(nodes[1]!.edge).port)
ports.tls = Number(new URL(nodes[1]!.edgeTls).port)
after(async () => {
  for (const node of nodes) await node.kill()
  await acme.close()
  await database.close()
  for (const dir of dirs) assert.deepEqual(await clearDataDir(dir), [])
})

async function serialAt(node: NodeProcess, name: string, ca = acme.ca): Promise<string> {
  const port = Number(new URL(node.edgeTls).port)
  const socket = tls.connect({ host: '127.0.0.1', port, servername: name, ca })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().serialNumber
  } finally {
    socket.destroy()
  }
}
// Proves decided "`ssl_enabled`", decided "Certificates"
it('a domain that is registered has a certificate at every node, and ssl_enabled says so', async () => {
  const [node] = nodes as [NodeProcess, NodeProcess]
  const { key } = await openAccount(node, { email: 'owner@example.com', plan: 'agency_plus' })
  await registerDomain(node, key, { customDomain: 'shop.example.com', originUrl: 'https://93.184.216.34' })
  const domain = async () => {
    const { body } = await callApi(node, key, { method: 'GET', path: '/api/domains/shop.example.com' })
    return body['domain'] as { ssl_enabled: boolean }
  }
  await until('ssl_enabled', async () => (await domain()).ssl_enabled, 60_000)
  assert.deepEqual(acme.orders, ['shop.example.com'])
  const serials = new Set<string>()
  for (const node of nodes) serials.add(await until('TLS', () => serialAt(node, 'shop.example.com')))
  assert.equal(serials.size, 1)
})

// Proves decided "Wrong master key"
it('a node with another master key does not start, and says what to do', async () => {
  const { code, stderr } = await runPrepaint(['serve'], {
    ...settings,
    PREPAINT_DATA_DIR: dirs[2],
    PREPAINT_SECRET_KEY: randomBytes(32).toString('base64'),
    PREPAINT_API_PORT: '0',
    PREPAINT_EDGE_PORT: '0',
  })
  assert.equal(code, 1)
  assert.match(stderr, /encrypted with a master key .* set PREPAINT_SECRET_KEY/)
})

it('where no CA is named it starts, says so in the log, and serves no garbage', async () => {
  const node = await startNodeProcess(dirs[2], {
    ...settings,
    PREPAINT_SECRET_KEY: '',
    PREPAINT_ACME_DIRECTORY: '',
    PREPAINT_ACME_EMAIL: '',
  })
  nodes.push(node)
  assert.match(node.log(), /encrypted with another master key/)
  await assert.rejects(serialAt(node, 'shop.example.com'))
  assert.equal((await fetch(`${node.api}/readyz`)).status, 200)
})
