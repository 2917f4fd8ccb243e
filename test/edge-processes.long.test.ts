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
  const settings = { PREPAINT_EDGE_PROCESSES: `${PROCESSES}`, PREPAINT_LIVE_WAIT_MS: '25000' }
  node = await startNodeProcess(dataDir, settings)
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
    // A process that is busy for a second is left out of the sum.
    await until('all requests are counted', async () => (await countedRequests()) - before === CONNECTIONS)
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
    await until('all requests are counted', async () => (await countedRequests()) >= before + CONNECTIONS)
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
  it('drops no request that a kept connection carries, and new connections reach the new node', async (t) => {
    const start = async (settings: Record<string, string>) => {
      const dir = makeDataDir()
      const started = await startNodeProcess(dir, settings)
      t.after(async () => {
        if (started.running) await started.stop()
        assert.deepEqual(await clearDataDir(dir), [])
      })
      return started
    }
    const settings = { PREPAINT_EDGE_PROCESSES: '2', PREPAINT_EDGE_SHARE_PORT: '1', PREPAINT_ROLES: 'edge' }
    const old = await start(settings)
    const ports = {
      PREPAINT_EDGE_PORT: new URL(old.edge).port,
      PREPAINT_EDGE_TLS_PORT: new URL(old.edgeTls).port,
    }
    const next = await start({ ...settings, ...ports })
    const clients = new KeptClients(old.edge)
    t.after(() => clients.close())
    await until('requests are under way', () => clients.statuses.length > 100)
    assert.equal(await old.stop(), 0)
    await clients.close()
    assert.deepEqual([...new Set(clients.statuses)], [404])
    const later = await edgeRequest(next.edge, { host: 'none.example', path: '/', userAgent: PERSON })
    assert.equal(later.status, 404)
  })
})

/** Sixteen clients that ask again and again, each on a connection that it keeps until it is told that it ends. */
class KeptClients {
  readonly #edge: string
  readonly #asking: Promise<unknown>
  #isClosing = false
  readonly statuses: number[] = []

  constructor(edge: string) {
    this.#edge = edge
    this.#asking = Promise.all(Array.from({ length: 16 }, () => this.#ask()))
    this.#asking.catch(() => {
      this.#isClosing = true
    })
  }

  /** Rejects if a request has failed. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#asking
  }

  async #ask(): Promise<void> {
    const agent = new CountingAgent({ keepAlive: true, maxSockets: 1 })
    try {
      while (!this.#isClosing) {
        const before = agent.connections
        const request = { host: 'none.example', path: '/', userAgent: PERSON, agent }
        try {
          this.statuses.push((await edgeRequest(this.#edge, request)).status)
        } catch (error) {
          // A new connection may reach a process that stops listening: the kernel resets it (docs/operations.md).
          const isReset = ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
          if (agent.connections === before || !isReset) throw error
        }
      }
    } finally {
      agent.destroy()
    }
  }
}

class CountingAgent extends http.Agent {
  /** So many were opened. */
  connections = 0

  override createConnection(...given: Parameters<http.Agent['createConnection']>) {
    this.connections++
    return super.createConnection(...given)
  }
}

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
