/** Two nodes of one machine on the same edge port: `PREPAINT_EDGE_SHARE_PORT`. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { after, it } from 'node:test'
import { until } from '../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { testDatabase } from '../test/support/database.ts'
import { listening } from '../test/support/loopback.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { openAccount } from '../test/support/tenant.ts'

type Answer = { status: number | undefined; node: string; body: string }

const dirs = [makeDataDir(), makeDataDir()] as const
const waiting: http.ServerResponse[] = []
const origin = http.createServer((req, res) => {
  if (req.url === '/waits') waiting.push(res)
  else res.end('of the origin')
})
let answered = 0
const database = await testDatabase()
const settings: Record<string, string> = {
  DATABASE_URL: database.url,
  PREPAINT_ROLES: 'edge,api',
  PREPAINT_SECRET_KEY: randomBytes(32).toString('base64'),
  PREPAINT_EDGE_SHARE_PORT: '1',
  PREPAINT_LIVE_WAIT_MS: '0',
  PREPAINT_LOG_LEVEL: 'warn',
}
// Only the first node keeps the IDs of requests: that tells which node answered.
const first = await startNodeProcess(dirs[0], { ...settings, PREPAINT_TRUSTED_PROXIES: '127.0.0.1' })
settings['PREPAINT_EDGE_PORT'] = new URL(first.edge).port
settings['PREPAINT_EDGE_TLS_PORT'] = new URL(first.edgeTls).port
const nodes = [first, await startNodeProcess(dirs[1], settings)]
await openAccount(first, { email: 'owner@example.com', plan: 'agency_plus' })
await database.pool.query(
  `insert into domain (account_id, custom_domain, origin_url) select id, 'shop.example', $1 from account`,
  [`http://127.0.0.1:${await listening(origin)}`],
)
after(async () => {
  for (const node of nodes) await node.kill()
  origin.closeAllConnections()
  origin.close()
  await database.close()
  for (const dir of dirs) assert.deepEqual(await clearDataDir(dir), [])
})

/** Asks on a new connection. The request's ID tells which node answered. */
async function ask(path: string): Promise<Answer> {
  const id = 'kept-by-the-first-node'
  const headers = { host: 'shop.example', 'x-request-id': id }
  const request = http.get(`${nodes[0]!.edge}${path}`, { agent: false, headers })
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  const body = (await answer.setEncoding('latin1').toArray()).join('')
  const node = answer.headers['x-request-id'] === id ? 'first' : 'second'
  answered++
  return { status: answer.statusCode, node, body }
}

async function bothAnswer(): Promise<void> {
  const seen = new Set<string>()
  await until('both have answered', async () => {
    const { status, node } = await ask('/')
    if (status === 200) seen.add(node)
    return seen.size === 2
  })
}

it('both serve, on the port for TLS too', async () => {
  assert.equal(nodes[1]!.edge, nodes[0]!.edge)
  assert.equal(nodes[1]!.edgeTls, nodes[0]!.edgeTls)
  await bothAnswer()
})

// Proves decided "Traffic counts"
it('one stops: what it has taken is answered and counted, and the other serves on; so after a kill -9', async () => {
  // The kernel deals out connections by chance: 40 never go to one node only.
  const answers = Array.from({ length: 40 }, () => ask('/waits'))
  await until('all are at the origin', () => waiting.length === answers.length)
  const stopped = nodes[1]!.stop()
  await until('only the first answers', async () => {
    const lately = await Promise.all(Array.from({ length: 10 }, () => ask('/').catch(() => null)))
    return lately.every((answer) => answer?.node === 'first')
  })
  for (const res of waiting.splice(0)) res.end('late, but whole')
  const got = await Promise.all(answers)
  assert(got.every(({ status, body }) => status === 200 && body === 'late, but whole'))
  assert.equal(new Set(got.map(({ node }) => node)).size, 2)
  assert.equal(await stopped, 0)
  // A visit that the second had counted and not written by its end would be missing.
  await until('all visits are written', async () => {
    const { rows } = await database.pool.query('select sum(visits)::int as visits from traffic_hour')
    return rows[0].visits === answered
  })

  nodes[1] = await startNodeProcess(dirs[1], settings)
  await bothAnswer()
  await nodes[1].kill()
  for (let at = 0; at < 20; at++) assert.equal((await ask('/')).status, 200)
})
