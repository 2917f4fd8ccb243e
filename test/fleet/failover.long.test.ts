/**
 * The recipe for failover in docs/operations.md, with two nodes under load: the primary server is killed together with its
 * Patroni, again and again, and switched over. CI kills it twice, so that the file takes less than two minutes;
 * `PREPAINT_TEST_KILLS=10` is the drill that the documents speak of.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { until as untilWithin } from '../support/condition.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../support/tenant.ts'
import { insertPlainDomains, startOrigin } from './outage-sites.ts'
import { hasRecipePrograms, PatroniPair } from './patroni-pair.ts'

const KILLS = Number(process.env['PREPAINT_TEST_KILLS'] ?? 2)
const EMAIL = 'owner@example.com'
/** Of each kind, at least. */
const REQUESTS = 1_000
const COLD_DOMAINS = 1_500
/** Between two requests of one client, so that the servers have processor time for themselves. */
const PAUSE_MS = 50
const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 120_000)

const isInstalled = hasRecipePrograms()
if (!isInstalled) {
  process.stderr.write(
    'No test of failover: apt-get install postgresql-15 patroni etcd-server etcd-client haproxy\n',
  )
}

/** What clients of the nodes have seen so far. */
class Load {
  readonly acknowledged: string[] = []
  readonly counts = { hits: 0, people: 0, 'cold people': 0, 'refused writes': 0 }
  /** Answers that nobody may get. */
  readonly wrong: string[] = []
  readonly #nodes: readonly NodeProcess[]
  readonly #key: string
  readonly #originUrl: string
  readonly #agent = new http.Agent({ keepAlive: true })
  readonly #clients: Promise<void>[]
  #isOver = false
  #lastWriteMs = performance.now()
  #longestGapMs = 0

  constructor(nodes: readonly NodeProcess[], key: string, originUrl: string) {
    this.#nodes = nodes
    this.#key = key
    this.#originUrl = originUrl
    this.#clients = nodes.flatMap((node, at) => [
      this.#repeat((turn) => this.#crawl(node, turn)),
      this.#repeat((turn) => this.#visit(node, 'people', `known-${turn % 20}.example`)),
      this.#repeat((turn) => this.#visit(node, 'cold people', `cold-${turn % COLD_DOMAINS}.example`)),
      this.#repeat((turn) => this.#write(node, `made-${at}-${turn}.example`)),
    ])
  }

  /** The longest time without an acknowledged write since the last call, in ms. */
  takeLongestGap(): number {
    const gapMs = Math.max(this.#longestGapMs, performance.now() - this.#lastWriteMs)
    this.#longestGapMs = 0
    this.#lastWriteMs = performance.now()
    return gapMs
  }

  get isEnough(): boolean {
    const { hits, people, 'cold people': cold } = this.counts
    return Math.min(hits, people, cold) >= REQUESTS * this.#nodes.length
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #repeat(act: (turn: number) => Promise<void>): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      await act(turn)
      await delay(PAUSE_MS)
    }
  }

  async #crawl(node: NodeProcess, turn: number): Promise<void> {
    const asked = {
      host: 'known-0.example',
      path: `/hit-${turn % 5}`,
      userAgent: GOOGLEBOT,
      agent: this.#agent,
    }
    const { status, verdict } = await edgeRequest(node.edge, asked)
    this.counts.hits += 1
    if (status !== 200 || !/^(?:hit|stale)$/.test(verdict)) this.wrong.push(`hit: ${status} ${verdict}`)
  }

  async #visit(node: NodeProcess, who: 'people' | 'cold people', host: string): Promise<void> {
    const asked = { host, path: '/', userAgent: PERSON, agent: this.#agent }
    const { status, verdict } = await edgeRequest(node.edge, asked)
    this.counts[who] += 1
    if (status !== 200 || verdict !== 'pass; not-a-crawler') this.wrong.push(`${who}: ${status} ${verdict}`)
  }

  async #write(node: NodeProcess, name: string): Promise<void> {
    const body = { custom_domain: name, origin_url: this.#originUrl }
    const { status } = await callApi(node, this.#key, { method: 'POST', path: '/api/domains', body })
    if (status === 201) {
      this.acknowledged.push(name)
      this.#longestGapMs = Math.max(this.#longestGapMs, performance.now() - this.#lastWriteMs)
      this.#lastWriteMs = performance.now()
      return
    }
    this.counts['refused writes'] += 1
    if (status !== 503) this.wrong.push(`write: ${status}`)
  }
}

if (isInstalled) {
  describe(`a failover, with ${KILLS} kills`, () => {
    const dirs = [makeDataDir(), makeDataDir()] as const
    const nodes: NodeProcess[] = []
    let pair: PatroniPair
    let origin: Awaited<ReturnType<typeof startOrigin>>
    let load: Load
    let key = ''

    before(async () => {
      origin = await startOrigin()
      pair = await PatroniPair.start()
      const settings = { PREPAINT_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), DATABASE_URL: pair.url }
      nodes.push(await startNodeProcess(dirs[0], settings))
      nodes.push(await startNodeProcess(dirs[1], { ...settings, PREPAINT_ROLES: 'edge,api' }))
      key = (await openAccount(nodes[0]!, { email: EMAIL, plan: 'enterprise' })).key
      const known = Array.from({ length: 20 }, (_, at) => `known-${at}.example`)
      for (const customDomain of known) {
        await registerDomain(nodes[0]!, key, { customDomain, originUrl: origin.url })
      }
      const cold = Array.from({ length: COLD_DOMAINS }, (_, at) => `cold-${at}.example`)
      await insertCold(cold)
      for (const node of nodes) {
        await until('the snapshot is complete', () => hasInSnapshot(node, known.length + cold.length))
        for (let page = 0; page < 5; page++) await until('it is in memory', () => isHit(node, `/hit-${page}`))
      }
      load = new Load(nodes, key, origin.url)
    })

    after(async () => {
      await load?.end()
      for (const node of nodes) await node.stop()
      await pair?.close()
      await origin?.close()
      for (const dir of dirs) await clearDataDir(dir)
    })

    /** Tells every node to read all domains anew, as operators never do. */
    async function insertCold(names: readonly string[]): Promise<void> {
      const pool = new pg.Pool({ connectionString: pair.url, max: 1 })
      try {
        await insertPlainDomains(pool, { account: EMAIL, originUrl: origin.url, names })
        await pool.query(`select pg_notify('invalidate', '{"everything": true}')`)
      } finally {
        await pool.end()
      }
    }

    async function hasInSnapshot(node: NodeProcess, domains: number): Promise<boolean> {
      const metrics = await (await fetch(`${node.api}/metrics`)).text()
      return metrics.includes(`prepaint_snapshot_domains ${domains}\n`)
    }

    const crawl = (node: NodeProcess, path: string) =>
      edgeRequest(node.edge, { host: 'known-0.example', path, userAgent: GOOGLEBOT })

    const isHit = async (node: NodeProcess, path: string) => (await crawl(node, path)).verdict === 'hit'

    let misses = 0
    /** Waits for a miss that is rendered, and for an acknowledged write, at each node. */
    async function isBack(t: TestContext): Promise<void> {
      const beganMs = performance.now()
      const written = load.acknowledged.length
      await until('the API writes again', () => load.acknowledged.length > written)
      t.diagnostic(`writes after ${seconds(performance.now() - beganMs)} s`)
      for (const node of nodes) {
        misses += 1
        // A crawler that has waited long enough gets the origin; the next one gets the page.
        await until('a miss is rendered', async () => {
          const { verdict } = await crawl(node, `/miss-${misses}`)
          return ['rendered', 'hit'].includes(verdict)
        })
      }
      t.diagnostic(`renders at both nodes after ${seconds(performance.now() - beganMs)} s`)
    }

    for (let kill = 1; kill <= KILLS; kill++) {
      it(`kill ${kill}: misses are rendered and the API writes again by the other server`, async (t) => {
        await pair.isWhole()
        const killed = await pair.killPrimary()
        await isBack(t)
        assert.notEqual(await pair.primary(), killed)
        pair.returnServer(killed)
      })
    }

    it('a switchover moves the nodes to the other server', async (t) => {
      await pair.isWhole()
      const from = await pair.primary()
      load.takeLongestGap()
      await pair.switchOver()
      await isBack(t)
      t.diagnostic(`no write was acknowledged for ${seconds(load.takeLongestGap())} s`)
      assert.notEqual(await pair.primary(), from)
    })

    it('no hit and no person noticed any of it', async (t) => {
      await until('there were enough requests', () => load.isEnough)
      await load.end()
      t.diagnostic(JSON.stringify(load.counts))
      assert.deepEqual(load.wrong, [])
    })

    it('no acknowledged write is lost', async (t) => {
      const { body } = await callApi(nodes[1]!, key, { method: 'GET', path: '/api/domains' })
      const there = new Set(
        (body['domains'] as { custom_domain: string }[]).map((domain) => domain.custom_domain),
      )
      t.diagnostic(`${load.acknowledged.length} writes were acknowledged`)
      assert.deepEqual(
        load.acknowledged.filter((name) => !there.has(name)),
        [],
      )
    })
  })
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1)
}
