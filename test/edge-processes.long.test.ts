/** A node whose edge has several processes: PREPAINT_EDGE_PROCESSES. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { createTestCa } from './support/certificate-authority.ts'
import { runJson } from './support/command-line.ts'
import { until } from './support/condition.ts'
import { clearDataDir, makeDataDir } from './support/data-dir.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from './support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from './support/node-process.ts'
import { processTree } from './support/processes.ts'
import { callApi, openAccount, registerDomain } from './support/tenant.ts'

const HOST = 'shop.example'
const PROCESSES = 3
/** So many new connections reach each process: that one gets none has a probability below one in a million. */
const CONNECTIONS = 48

const origin = http.createServer((req, res) => {
  const answer = () => res.setHeader('content-type', 'text/html').end(pageOf(version))
  if (req.url !== '/slow') {
    answer()
    return
  }
  waiting++
  void slowRequests.then(answer)
})
const { promise: slowRequests, resolve: answerSlowRequests } = Promise.withResolvers<void>()
const dataDir = makeDataDir()
let version = 1
/** Requests for `/slow` that the origin has. */
let waiting = 0
let node: NodeProcess
let key = ''

before(async () => {
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  node = await startNodeProcess(dataDir, { PREPAINT_EDGE_PROCESSES: `${PROCESSES}` })
  key = (await openAccount(node, { email: 'owner@example.com', plan: 'enterprise' })).key
  const originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`
  await registerDomain(node, key, { customDomain: HOST, originUrl })
})

after(async () => {
  if (node.running) await node.stop()
  origin.close()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

/** Each on a connection of its own, so that the kernel chooses a process for each. */
function askEach(path: string, userAgent: string, count = CONNECTIONS) {
  return Promise.all(
    Array.from({ length: count }, () =>
      edgeRequest(node.edge, { host: HOST, path, userAgent, agent: new http.Agent() }),
    ),
  )
}

function pageOf(shown: number): string {
  const text = 'Cups and plates from Aarhus. '.repeat(20)
  return `<!doctype html><title>Shop</title><h1>Version ${shown}</h1><p>${text}</p>`
}

function edgeProcesses(): number[] {
  return processTree(node.pid)
    .filter(({ command }) => command.includes('edge-process'))
    .map(({ pid }) => pid)
}

async function countedRequests(): Promise<number> {
  const text = await (await fetch(`${node.api}/metrics`)).text()
  const lines = text.matchAll(/^prepaint_edge_requests_total\{[^}]*\} (\d+)$/gm)
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0)
}

describe('a node with three edge processes', () => {
  it('serves from all of them, and its metrics are their sum', async () => {
    assert.equal(edgeProcesses().length, PROCESSES - 1)
    const before = await countedRequests()
    const answers = await askEach('/', PERSON)
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal((await countedRequests()) - before, CONNECTIONS)
  })

  it('is one line in the list of nodes', async () => {
    const { json } = await runJson(['nodes'], node.settings)
    assert.equal((json['nodes'] as unknown[]).length, 1)
  })

  it('renders a page once for crawlers that come to several processes', async () => {
    const answers = await askEach('/page', GOOGLEBOT)
    assert.deepEqual(
      [...new Set(answers.map(({ verdict }) => verdict))].filter((verdict) => verdict.startsWith('pass')),
      [],
    )
    await until('the render is recorded', async () => (await rendersOf('/page')) > 0)
    assert.equal(await rendersOf('/page'), 1)
  })

  it('a purge that the API has answered is in effect in all processes', async () => {
    await until('all processes have the page', async () => {
      const answers = await askEach('/page', GOOGLEBOT)
      return answers.every(({ verdict }) => verdict.startsWith('hit'))
    })
    version = 2
    const body = { domain: HOST, paths: ['/page'] }
    const purged = await callApi(node, key, { method: 'POST', path: '/api/cache/purge', body })
    assert.equal(purged.status, 200)
    const answers = await askEach('/page', GOOGLEBOT)
    assert.ok(answers.every(({ body }) => body.includes('Version 2')))
  })

  it('a TLS session that began in one process goes on in all others', async () => {
    const { chain, key: privateKey } = createTestCa().leaf({ names: [HOST] })
    const body = { certificate_chain: chain, private_key: privateKey }
    const path = `/api/domains/${HOST}/certificate`
    assert.equal((await callApi(node, key, { method: 'PUT', path, body })).status, 200)
    const { session } = await handshake(null)
    for (let time = 0; time < CONNECTIONS; time++) {
      assert.equal((await handshake(session)).isResumed, true)
    }
  })

  it('a process that is killed is replaced; requests meanwhile succeed, and sums do not fall', async () => {
    await askEach('/', PERSON)
    const before = await countedRequests()
    const [victim] = edgeProcesses()
    process.kill(victim!, 'SIGKILL')
    await until('the node knows', () => node.log().includes('an edge process ended and is replaced'))
    const answers = await askEach('/', PERSON)
    assert.ok(answers.every(({ status }) => status === 200))
    await until('it is replaced', () => edgeProcesses().length === PROCESSES - 1)
    assert.ok((await countedRequests()) >= before + CONNECTIONS)
  })

  it('SIGTERM ends all processes when their open requests are answered', async () => {
    const asked = askEach('/slow', PERSON)
    await until('all requests are at the origin', () => waiting === CONNECTIONS)
    const stopped = node.stop()
    answerSlowRequests()
    const answers = await asked
    assert.ok(answers.every(({ status }) => status === 200))
    assert.equal(await stopped, 0)
    assert.deepEqual(edgeProcesses(), [])
  })
})

describe('an upgrade of a node with two edge processes, beside which the next one shares the port', () => {
  it('drops no request that a kept connection carries, and new connections reach the new node', async () => {
    const dirs = [makeDataDir(), makeDataDir()]
    const settings = { PREPAINT_EDGE_PROCESSES: '2', PREPAINT_EDGE_SHARE_PORT: '1', PREPAINT_ROLES: 'edge' }
    const old = await startNodeProcess(dirs[0]!, settings)
    const ports = {
      PREPAINT_EDGE_PORT: new URL(old.edge).port,
      PREPAINT_EDGE_TLS_PORT: new URL(old.edgeTls).port,
    }
    const next = await startNodeProcess(dirs[1]!, { ...settings, ...ports })
    const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
    let isStopping = true
    const statuses: number[] = []
    const ask = async () => {
      while (isStopping) {
        const { status } = await edgeRequest(old.edge, {
          host: 'none.example',
          path: '/',
          userAgent: PERSON,
          agent,
        })
        statuses.push(status)
      }
    }
    const asking = Array.from({ length: 16 }, ask)
    await until('requests are under way', () => statuses.length > 100)
    assert.equal(await old.stop(), 0)
    isStopping = false
    await Promise.all(asking)
    assert.deepEqual([...new Set(statuses)], [404])
    const later = await edgeRequest(next.edge, { host: 'none.example', path: '/', userAgent: PERSON })
    assert.equal(later.status, 404)
    agent.destroy()
    await next.stop()
    for (const dir of dirs) assert.deepEqual(await clearDataDir(dir), [])
  })
})

async function rendersOf(path: string): Promise<number> {
  const { body } = await callApi(node, key, { method: 'GET', path: `/api/domains/${HOST}/renders` })
  return (body['renders'] as { path: string }[]).filter((render) => render.path === path).length
}

/** By TLS 1.2, whose session is known when the handshake ends. */
async function handshake(session: Buffer | null): Promise<{ session: Buffer; isResumed: boolean }> {
  const socket = tls.connect({
    host: '127.0.0.1',
    port: Number(new URL(node.edgeTls).port),
    servername: HOST,
    maxVersion: 'TLSv1.2',
    rejectUnauthorized: false,
    session: session ?? undefined,
  })
  await once(socket, 'secureConnect')
  const found = { session: socket.getSession()!, isResumed: socket.isSessionReused() }
  socket.destroy()
  return found
}
