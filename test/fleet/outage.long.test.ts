/**
 * A node while PostgreSQL is away, in each way of being away. One node uses the server itself, which is killed, stopped,
 * paused, made read-only and made to flap; the other one comes by a network that drops packets, resets connections, or
 * gives PostgreSQL's own errors.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import { after, before, describe, it, type TestContext } from 'node:test'
import pg from 'pg'
import { readContract } from '../support/api-contract.ts'
import { runJson, runPrepaint } from '../support/command-line.ts'
import { until as untilWithin } from '../support/condition.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { type AskOptions, GOOGLEBOT, GPTBOT, PERSON, request } from '../support/edge.ts'
import { edgeRequest } from '../support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../support/node-process.ts'
import { startTestServer } from '../support/postgres-server.ts'
import { processesOf } from '../support/processes.ts'
import { openAccount, openKey, registerDomain } from '../support/tenant.ts'
import {
  COLD_KINDS,
  digestOf,
  echoByWebSocket,
  handshake,
  insertPlainDomains,
  ORIGIN_ROBOTS,
  OWN_ROBOTS,
  registerSites,
  startOrigin,
  storePage,
} from './outage-sites.ts'

const EMAIL = 'owner@example.com'
const PASSWORD = 'six calm badgers write'
const FACEBOOK = 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)'
const GOOGLEBOT_PHONE =
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
/** Of each kind, in each way of being away of the server. */
const REQUESTS = 1_000
/** The other ways differ only in how the node finds out. */
const FEWER_REQUESTS = 100
const AT_ONCE = 40
const FRESH_PAGES = 20
const VISITS = 25
const DAY_S = 86_400
const NEXT_DAY = new Date(Date.now() + DAY_S * 1_000).toUTCString()
const AWAY_ANSWER = '{"error":"Database is unavailable, try again later"}'

const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 60_000)

type Mode = {
  name: string
  /** In names of domains. */
  word: string
  requests: number
  node(): NodeProcess
  begin(): Promise<void> | void
  end(): Promise<void> | void
}

const server = await startTestServer()
const proxy = await startDatabaseProxy(server.connection)
const pool = new pg.Pool({ ...server.connection, max: 2 })
pool.on('error', () => {})
const origin = await startOrigin()
const dirs = [makeDataDir(), makeDataDir(), makeDataDir()] as const
/** All processes, because a node that is started again has a new one. */
const started: NodeProcess[] = []
let direct: NodeProcess
let networked: NodeProcess
let key = ''
let token = ''
let cookie = ''
/** What a TLS client with an unknown name was told while PostgreSQL was there. */
let refusedHandshake = ''
let indexNowKeys: ReadonlyMap<string, string> = new Map()

/** The ways in which the server itself is away. */
const setReadOnly = async (isOn: boolean) => {
  const client = new pg.Client(server.connection)
  await client.connect()
  await client.query('set default_transaction_read_only = off')
  await client.query(`alter system set default_transaction_read_only = ${isOn ? 'on' : 'off'}`)
  await client.query('select pg_reload_conf()')
  await client.end()
}

/** A network that gives errors to new connections only: open ones end, too. */
const failNew = (state: '57P03' | '53300') => async () => {
  proxy.set(state)
  proxy.breakAll()
}

const ofServer = { requests: REQUESTS, node: () => direct }
const ofNetwork = { requests: FEWER_REQUESTS, node: () => networked, end: () => proxy.set('through') }
const restart = () => server.start()
const MODES: readonly Mode[] = [
  { ...ofServer, name: 'killed', word: 'killed', begin: () => server.kill(), end: restart },
  { ...ofServer, name: 'stopped', word: 'stopped', begin: () => server.stop(), end: restart },
  { ...ofServer, name: 'paused', word: 'paused', begin: () => server.pause(), end: () => server.resume() },
  {
    ...ofServer,
    name: 'read-only',
    word: 'readonly',
    begin: async () => {
      await setReadOnly(true)
      // It still answers what only reads, until a write finds out.
      await until('the node knows', async () => (await metric(direct, 'prepaint_database_away_seconds')) > 0)
    },
    end: () => setReadOnly(false),
  },
  {
    ...ofNetwork,
    name: 'behind a network that drops packets',
    word: 'drop',
    begin: () => proxy.set('swallow'),
  },
  { ...ofNetwork, name: 'behind a network that resets', word: 'reset', begin: () => proxy.set('refuse') },
  { ...ofNetwork, name: 'starting (57P03)', word: 'starting', begin: failNew('57P03') },
  { ...ofNetwork, name: 'out of connections (53300)', word: 'connections', begin: failNew('53300') },
]
/** All operations are asked for only here: how the node finds out makes no difference to them. */
const WHOLE_API = new Set(['killed', 'paused'])
const FLAPPING = 'flapping'

const newNames = (word: string, count: number) =>
  Array.from({ length: count }, (_, at) => `new-${at}.${word}.example`)

before(async () => {
  // A node of its own, so that the others know the sites from PostgreSQL or the snapshot only.
  const settings = { PREPAINT_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), PREPAINT_LOG_LEVEL: 'info' }
  const owner = { ...settings, PREPAINT_ROLES: 'edge,api', PREPAINT_SNAPSHOT_HOURS: '0' }
  const office = await startNodeProcess(dirs[0], { ...owner, DATABASE_URL: server.url })
  const modes = MODES.map(({ word }) => word)
  const created = ['account', 'create', '--email', EMAIL, '--plan', 'enterprise', '--password', PASSWORD]
  assert.equal((await runJson(created, office.settings)).code, 0)
  key = await openKey(office, EMAIL, 'test')
  await registerSites(office, key, origin.url, modes)
  const newTo = [...MODES, { word: FLAPPING, requests: REQUESTS }]
  const names = newTo.flatMap(({ word, requests }) => newNames(word, requests / 2))
  await insertPlainDomains(pool, { account: EMAIL, originUrl: origin.url, names })
  await pool.query(
    `update certificate set not_after = now() - interval '1 day'
       from domain where domain.id = domain_id and custom_domain like 'expired.%'`,
  )
  const create = ['token', 'create', '--domain', 'warm.example', '--name', 'test']
  token = String((await runJson(create, office.settings)).json['token'])
  const signedIn = await api(office, 'POST', '/api/session', {
    body: { email: EMAIL, password: PASSWORD },
    headers: SAME_SITE,
  })
  cookie = signedIn.cookie
  await storePages(modes)
  const { rows } = await pool.query<{ name: string; key: string }>(
    'select custom_domain as name, indexnow_key as key from domain where indexnow_key is not null',
  )
  indexNowKeys = new Map(rows.map((row) => [row.name, row.key]))
  assert.equal(await office.stop(), 0)

  direct = await start(dirs[1], { ...settings, DATABASE_URL: server.url })
  networked = await start(dirs[2], { ...settings, PREPAINT_ROLES: 'edge,api', DATABASE_URL: proxy.url })
  const domains = 2 + COLD_KINDS.length * MODES.length + names.length
  for (const node of [direct, networked]) {
    await until(
      'its snapshot is complete',
      async () => (await metric(node, 'prepaint_snapshot_domains')) === domains,
    )
  }
})

after(async () => {
  const left: unknown[] = []
  for (const node of started) left.push(node.running ? await node.stop() : 0)
  proxy.close()
  await pool.end()
  await server.close()
  await origin.close()
  for (const dir of dirs) left.push(...(await clearDataDir(dir)))
  assert.deepEqual(
    left.filter((end) => end !== 0),
    [],
  )
})

async function start(dir: string, settings: Record<string, string>): Promise<NodeProcess> {
  const node = await startNodeProcess(dir, settings)
  started.push(node)
  return node
}

async function storePages(modes: readonly string[]): Promise<void> {
  const warm = (path: string, ageSeconds = 0) => storePage(pool, { host: 'warm.example', path, ageSeconds })
  for (let at = 0; at < FRESH_PAGES; at++) await warm(`/fresh-${at}`)
  await warm('/stale', 2 * DAY_S)
  await warm('/kept', 20 * DAY_S)
  await warm('/forms')
  await warm('/forms-cold')
  for (const mode of modes) {
    await warm(`/missing-${mode}`)
    await warm(`/purged-${mode}`)
    await storePage(pool, { host: `cold.${mode}.example`, path: '/held' })
  }
}

type Call = { body?: unknown; headers?: Record<string, string> }

async function api(node: NodeProcess, method: string, path: string, { body, headers = {} }: Call = {}) {
  const typed = body === undefined ? headers : { 'content-type': 'application/json', ...headers }
  const response = await fetch(node.api + path, {
    method,
    headers: typed,
    body: body === undefined ? null : JSON.stringify(body),
    redirect: 'manual',
  })
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    type: response.headers.get('content-type'),
    cookie: response.headers.getSetCookie().join('; ').split(';', 1)[0] ?? '',
    text: await response.text(),
  }
}

async function metric(node: NodeProcess, name: string): Promise<number> {
  const { text } = await api(node, 'GET', '/metrics')
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

const isReady = async (node: NodeProcess) => (await api(node, 'GET', '/readyz')).status === 200

const ask = (node: NodeProcess, host: string, path: string, options: AskOptions = {}) =>
  request(Number(new URL(node.edge).port), path, { host, ...options })

/** What matters of an answer: its status, what we say of it, and who made it. */
async function told(
  node: NodeProcess,
  host: string,
  path: string,
  options: AskOptions = {},
): Promise<string> {
  const { status, verdict, body } = await ask(node, host, path, options)
  const text = body.toString()
  let from = 'ours'
  if (text.includes('Of the origin')) from = 'the origin'
  else if (text.includes('Stored')) from = 'the store'
  return `${status} ${verdict}, ${from}`
}

const MARKDOWN = { headers: { accept: 'text/markdown' } }

/** The headers of a hit that depend on the moment. */
const VOLATILE = new Set(['date', 'age', 'x-request-id', 'cache-status', 'keep-alive'])

async function wholeAnswer(node: NodeProcess, path: string, options: AskOptions) {
  const { status, headers, body } = await ask(node, 'warm.example', path, options)
  const lasting = Object.entries(headers).filter(([name]) => !VOLATILE.has(name))
  return { status, headers: Object.fromEntries(lasting), body: body.toString('base64') }
}

const HITS: readonly [name: string, path: string, options: AskOptions][] = [
  ['plain', '/fresh-0', { headers: { 'accept-encoding': 'identity' } }],
  ['by gzip', '/fresh-0', { headers: { 'accept-encoding': 'gzip' } }],
  ['by brotli', '/fresh-0', { headers: { 'accept-encoding': 'br' } }],
  ['by HEAD', '/fresh-0', { method: 'HEAD' }],
  ['if it has changed', '/fresh-0', { headers: { 'if-modified-since': NEXT_DAY } }],
  ['as Markdown', '/forms', MARKDOWN],
]

type Case = {
  name: string
  run(node: NodeProcess, mode: Mode): Promise<unknown>
  expected: unknown
}

const PERSON_PASSED = '200 pass; not-a-crawler, the origin'
const DATABASE_PASSED = '200 pass; database, the origin'
const UPLOAD = Buffer.alloc(1_000_000, 'an upload ')
const upload = { agent: PERSON, method: 'POST', body: UPLOAD }

/** The rows of the table: what people and crawlers get. Domains of `cold` are known by the snapshot only. */
const EDGE_CASES: readonly Case[] = [
  {
    name: 'a person of a domain in memory gets the origin',
    run: (node) => told(node, 'warm.example', '/any', { agent: PERSON }),
    expected: PERSON_PASSED,
  },
  {
    name: 'a person of a domain that only the snapshot has gets the origin',
    run: (node, { word }) => told(node, `cold.${word}.example`, '/any', { agent: PERSON }),
    expected: PERSON_PASSED,
  },
  {
    name: 'an upload reaches the origin whole',
    run: async (node) => (await ask(node, 'warm.example', '/upload', upload)).body.toString(),
    expected: digestOf(UPLOAD),
  },
  {
    name: 'an upload to a domain that only the snapshot has reaches the origin whole',
    run: async (node, { word }) =>
      (await ask(node, `new-1.${word}.example`, '/upload', upload)).body.toString(),
    expected: digestOf(UPLOAD),
  },
  {
    name: 'a WebSocket is passed',
    run: (node) => echoByWebSocket(node.edge, 'warm.example', 'hello'),
    expected: '101 pass; not-a-crawler: hello',
  },
  {
    name: 'a WebSocket of a domain that only the snapshot has is passed',
    run: (node, { word }) => echoByWebSocket(node.edge, `new-2.${word}.example`, 'hello'),
    expected: '101 pass; not-a-crawler: hello',
  },
  {
    name: 'a WebSocket of a host that nobody knows is refused with 503',
    run: (node) => echoByWebSocket(node.edge, 'nobody.example', 'hello'),
    expected: '503 none; database',
  },
  {
    name: 'a stream of a domain that only the snapshot has is passed as it comes',
    run: (node, { word }) => readStream(node, `new-3.${word}.example`),
    expected: 'data: first\n\ndata: second\n\n',
  },
  {
    name: 'a crawler gets a page in memory',
    run: (node) => told(node, 'warm.example', '/fresh-1'),
    expected: '200 hit, the store',
  },
  {
    name: 'a crawler gets a stale page in memory',
    run: (node) => told(node, 'warm.example', '/stale'),
    expected: '200 stale, the store',
  },
  {
    name: 'a crawler gets a page in memory that is only kept as a stale one',
    run: (node) => told(node, 'warm.example', '/kept'),
    expected: '200 stale, the store',
  },
  {
    name: 'a crawler gets the origin for a page that is stored but not in memory, with its status',
    run: (node, { word }) => told(node, 'warm.example', `/missing-${word}`),
    expected: '404 pass; database, the origin',
  },
  {
    name: 'a crawler gets the origin for a page that was never rendered',
    run: (node, { word }) => told(node, 'warm.example', `/never-${word}`),
    expected: DATABASE_PASSED,
  },
  {
    name: 'a crawler gets the origin for a page of a domain that only the snapshot has',
    run: (node, { word }) => told(node, `new-4.${word}.example`, '/held'),
    expected: DATABASE_PASSED,
  },
  {
    name: 'a crawler gets the origin for a sitemap that Prepaint generates',
    run: (node) => told(node, 'warm.example', '/sitemap.xml'),
    expected: DATABASE_PASSED,
  },
  {
    name: 'a person gets the origin for a sitemap that Prepaint generates',
    run: (node) => told(node, 'warm.example', '/sitemap.xml', { agent: PERSON }),
    expected: PERSON_PASSED,
  },
  {
    name: 'a crawler gets Markdown in memory',
    run: async (node) => (await ask(node, 'warm.example', '/forms', MARKDOWN)).verdict,
    expected: 'hit',
  },
  {
    name: 'a crawler gets the origin for Markdown that is not in memory',
    run: (node) => told(node, 'warm.example', '/forms-cold', MARKDOWN),
    expected: DATABASE_PASSED,
  },
  {
    name: 'a crawler gets the origin for a card that is not in memory',
    run: (node) => told(node, 'warm.example', '/forms-cold', { agent: FACEBOOK }),
    expected: DATABASE_PASSED,
  },
  {
    name: 'a phone does not get the page of desktops where they have pages of their own',
    run: (node) => told(node, 'warm.example', '/fresh-1', { agent: GOOGLEBOT_PHONE }),
    expected: DATABASE_PASSED,
  },
  {
    name: 'a rule that passes works as saved, by the snapshot',
    run: (node, { word }) => told(node, `cold.${word}.example`, '/passed/x'),
    expected: '200 pass; rule, the origin',
  },
  {
    name: 'a rule that says 410 works as saved, by the snapshot',
    run: (node, { word }) => told(node, `cold.${word}.example`, '/gone'),
    expected: '410 rule, ours',
  },
  {
    name: "the owner's policy for crawlers works as saved, by the snapshot",
    run: (node, { word }) => told(node, `cold.${word}.example`, '/any', { agent: GPTBOT }),
    expected: '403 blocked; ai-training, ours',
  },
  {
    name: "the owner's redirect works as saved, by the snapshot",
    async run(node, { word }) {
      const { status, verdict, headers } = await ask(node, `cold.${word}.example`, '/old', { agent: PERSON })
      return [status, verdict, headers.location]
    },
    expected: [301, 'redirect', '/new'],
  },
  {
    name: "the origin gets the owner's headers, by the snapshot",
    run: async (node, { word }) =>
      (await ask(node, `cold.${word}.example`, '/header', { agent: PERSON })).body.toString(),
    expected: 'of-the-owner',
  },
  {
    name: "the owner's robots.txt is served, by the snapshot",
    async run(node, { word }) {
      const { verdict, body } = await ask(node, `cold.${word}.example`, '/robots.txt')
      return [verdict, body.toString().startsWith(OWN_ROBOTS)]
    },
    expected: ['site-file', true],
  },
  {
    name: "robots.txt is joined with what the node last had of the origin's",
    async run(node) {
      const { verdict, body } = await ask(node, 'append.example', '/robots.txt')
      return [verdict, body.toString()]
    },
    expected: ['site-file', `${ORIGIN_ROBOTS}\nUser-agent: appended\nDisallow: /\n`],
  },
  {
    name: "a crawler gets the origin's robots.txt where the node never had it",
    async run(node, { word }) {
      const { status, verdict, body } = await ask(node, `append.${word}.example`, '/robots.txt')
      return [status, verdict, body.toString()]
    },
    expected: [200, 'pass; database', ORIGIN_ROBOTS],
  },
  {
    name: 'the key file of IndexNow is served, by the snapshot',
    async run(node, { word }) {
      const indexNowKey = indexNowKeys.get(`cold.${word}.example`) ?? 'none'
      const { status, verdict, body } = await ask(node, `cold.${word}.example`, `/${indexNowKey}.txt`)
      return [status, verdict, body.toString() === indexNowKey]
    },
    expected: [200, 'site-file', true],
  },
  {
    name: 'a visitor of http:// is redirected to https:// as saved, by the snapshot',
    async run(node, { word }) {
      const { status, verdict, headers } = await ask(node, `secure.${word}.example`, '/a', { agent: PERSON })
      return [status, verdict, headers.location === `https://secure.${word}.example/a`]
    },
    expected: [301, 'none; https', true],
  },
  {
    name: 'a TLS client gets the certificate of a domain that only the snapshot has',
    run: async (node, { word }) =>
      (await handshake(node.edgeTls, `secure.${word}.example`)) === `secure.${word}.example`,
    expected: true,
  },
  {
    name: 'a TLS client gets no expired certificate, and is refused as for an unknown name',
    run: async (node, { word }) => [
      (await handshake(node.edgeTls, `expired.${word}.example`)) === refusedHandshake,
      (await handshake(node.edgeTls, 'nobody.example')) === refusedHandshake,
    ],
    expected: [true, true],
  },
  {
    name: 'a host that neither memory nor the snapshot has gets 503: it may be registered',
    async run(node) {
      const { status, verdict, headers } = await ask(node, 'nobody.example', '/', { agent: PERSON })
      return [status, verdict, headers['retry-after'], headers['cache-control']]
    },
    expected: [503, 'none; database', '10', 'no-store'],
  },
]

/** Reads a stream until the origin has said two words in it. */
async function readStream(node: NodeProcess, host: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  const asked = http.get(`${node.edge}/stream`, { headers: { host, 'user-agent': PERSON } }, (response) => {
    response.on('data', (part) => {
      if (text === '') origin.say('second')
      text += part
      if (text.includes('second')) resolve(text)
    })
  })
  asked.once('error', reject)
  return promise.finally(() => asked.destroy())
}

/** Answers of the API that need no database. */
const OPEN_CALLS: readonly [name: string, method: string, path: string, call: Call, status: number][] = [
  ['a call without a key', 'GET', '/api/domains', {}, 401],
  ['a call with a malformed key', 'GET', '/api/domains', { headers: { 'x-api-key': 'malformed' } }, 401],
  ['a webhook without a token', 'POST', '/api/webhook/refresh', { body: {} }, 401],
  ['an unknown route', 'GET', '/api/nothing', {}, 404],
  ['a wrong method', 'DELETE', '/api/cache/stats', {}, 405],
  ['a sign-in without an e-mail', 'POST', '/api/session', { body: {} }, 400],
  ['liveness', 'GET', '/healthz', {}, 200],
  ['metrics', 'GET', '/metrics', {}, 200],
  ['the document', 'GET', '/openapi.json', {}, 200],
  ['the API reference', 'GET', '/docs', {}, 200],
  ['the page about the renderer', 'GET', '/bot', {}, 200],
  ['the dashboard', 'GET', '/domains', {}, 200],
]

const SAME_SITE = { 'sec-fetch-site': 'same-origin' }

/** Calls without credentials that only PostgreSQL can answer. */
const JUDGED_CALLS: readonly [name: string, path: string, body: unknown][] = [
  ['a sign-in', '/api/session', { email: EMAIL, password: PASSWORD }],
  ['a sign-in with a wrong password', '/api/session', { email: EMAIL, password: 'wrong wrong wrong' }],
  ['reading a link', '/api/links/read', { token: 'pp_in_unknown' }],
  ['using a link', '/api/links/use', { token: 'pp_in_unknown', password: PASSWORD }],
]

/** What is sent with a request that the document describes so. */
function credentialsOf(scheme: string): Record<string, string> {
  switch (scheme) {
    case 'ApiKey':
      return { 'x-api-key': key }
    case 'BearerKey':
      return { authorization: `Bearer ${key}` }
    case 'PrerenderKey':
      return { 'x-prerender-token': key }
    case 'WebhookToken':
      return { authorization: `Bearer ${token}` }
    case 'Session':
      return { cookie, ...SAME_SITE }
    default:
      throw new Error(`no credentials for ${scheme}`)
  }
}

/** Sends one request to each operation of the document, with all kinds of credentials that it takes. */
async function checkApi(node: NodeProcess): Promise<void> {
  const document = JSON.parse((await api(node, 'GET', '/openapi.json')).text)
  const contract = readContract(document)
  const away = { status: 503, retryAfter: '5', text: AWAY_ANSWER }
  for (const { method, url, securities } of contract.operations) {
    // Fronts get an answer in their own form.
    if (url === '/page/{url}') continue
    for (const scheme of securities) {
      const path = url.replace('{domain}', 'warm.example').replace(/\{\w+\}/g, '1')
      const { status, retryAfter, text, type } = await api(node, method, path, {
        headers: credentialsOf(scheme),
      })
      assert.deepEqual({ status, retryAfter, text }, away, `${method} ${url} with ${scheme}`)
      contract.check({ method, path, status, type, text })
    }
  }
  for (const [name, path, body] of JUDGED_CALLS) {
    const { status, text, type } = await api(node, 'POST', path, { body, headers: SAME_SITE })
    assert.deepEqual([status, text], [503, AWAY_ANSWER], name)
    contract.check({ method: 'POST', path, status, type, text })
  }
}

/** Keys and passwords, right and wrong, cannot be judged. */
async function checkCredentials(node: NodeProcess): Promise<void> {
  const away = { status: 503, retryAfter: '5', text: AWAY_ANSWER }
  for (const [name, path, body] of JUDGED_CALLS) {
    const { status, retryAfter, text } = await api(node, 'POST', path, { body, headers: SAME_SITE })
    assert.deepEqual({ status, retryAfter, text }, away, name)
  }
  const unknown = key.replace(/.{6}$/, (end) => [...end].reverse().join(''))
  for (const sent of [key, unknown]) {
    const { status, retryAfter, text } = await api(node, 'GET', '/api/domains', {
      headers: { 'x-api-key': sent },
    })
    assert.deepEqual({ status, retryAfter, text }, away, 'a key')
  }
  const { status, text } = await api(node, 'POST', '/api/webhook/refresh', {
    headers: credentialsOf('WebhookToken'),
  })
  assert.deepEqual([status, text], [503, AWAY_ANSWER], 'a webhook')
}

/** Sends requests of crawlers and people side by side. Returns how often which answer came. */
async function sendTraffic(node: NodeProcess, word: string, count: number): Promise<Record<string, number>> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const found: Record<string, number> = {}
  const note = async (who: string, asking: { host: string; path: string; userAgent: string }) => {
    const { status, verdict, body } = await edgeRequest(node.edge, { ...asking, agent })
    const from = body.includes('Of the origin') ? 'the origin' : 'us'
    const line = `${who}: ${status} ${verdict} from ${from}`
    found[line] = (found[line] ?? 0) + 1
  }
  const waiting = Array.from({ length: count }, (_, at) => async () => {
    const host = at % 2 === 0 ? 'warm.example' : `new-${(at - 1) / 2}.${word}.example`
    await note('crawler', { host: 'warm.example', path: `/fresh-${at % FRESH_PAGES}`, userAgent: GOOGLEBOT })
    await note('person', { host, path: '/any', userAgent: PERSON })
  })
  const work = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await next()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work)).finally(() => agent.destroy())
  return found
}

const allServed = (count: number) => ({
  'crawler: 200 hit from us': count,
  'person: 200 pass; not-a-crawler from the origin': count,
})

/** Brings into memory what the cases ask for. */
async function warm(node: NodeProcess, { word }: Mode): Promise<void> {
  const asked: [path: string, options: AskOptions, verdict: string][] = [
    ...Array.from({ length: FRESH_PAGES }, (_, at): [string, AskOptions, string] => [
      `/fresh-${at}`,
      {},
      'hit',
    ]),
    [`/purged-${word}`, {}, 'hit'],
    ['/stale', {}, 'stale'],
    ['/kept', {}, 'stale'],
    ['/forms', MARKDOWN, 'hit'],
    ['/forms-cold', {}, 'hit'],
  ]
  for (const [path, options, verdict] of asked) {
    await until(
      `${path} is in memory`,
      async () => (await ask(node, 'warm.example', path, options)).verdict === verdict,
    )
  }
  await until(
    'robots.txt is known',
    async () => (await ask(node, 'append.example', '/robots.txt')).status === 200,
  )
}

async function visitsOf(node: NodeProcess, host: string): Promise<number> {
  const { status, text } = await api(node, 'GET', `/api/domains/${host}/traffic`, {
    headers: { 'x-api-key': key },
  })
  assert.equal(status, 200, text)
  return (JSON.parse(text) as { traffic: { totals: { visits: number } } }).traffic.totals.visits
}

/** The API writes and misses are rendered, without a restart. Says how long each took. */
async function recovers(node: NodeProcess, word: string, t: TestContext): Promise<void> {
  const beganMs = performance.now()
  const say = (what: string) => t.diagnostic(`${what} after ${Math.round(performance.now() - beganMs)} ms`)
  const body = { custom_domain: `after.${word}.example`, origin_url: origin.url }
  await until('the API writes', async () => {
    const { status } = await api(node, 'POST', '/api/domains', { body, headers: { 'x-api-key': key } })
    return status === 201
  })
  say('API writes')
  // A crawler that has waited long enough gets the origin; the next one gets the page.
  await until('a miss is rendered', async () => {
    const { verdict } = await ask(node, 'warm.example', `/rendered-${word}`)
    return verdict === 'rendered' || verdict === 'hit'
  })
  say('renders')
  await until('it is ready', () => isReady(node))
  assert.equal(await metric(node, 'prepaint_database_away_seconds'), 0)
  assert.equal((await ask(node, 'nobody.example', '/', { agent: PERSON })).status, 404)
}

for (const mode of MODES) {
  describe(`while PostgreSQL is ${mode.name}`, () => {
    const { word, requests } = mode
    let node: NodeProcess
    let connected: unknown[] = []

    before(async () => {
      node = mode.node()
      await warm(node, mode)
      refusedHandshake = await handshake(node.edgeTls, 'unknown.example')
      assert.match(refusedHandshake, /^E/)
      connected = await Promise.all(HITS.map(([, path, options]) => wholeAnswer(node, path, options)))
      await mode.begin()
    })

    it('the first requests, which find out, are served', async (t) => {
      const beganMs = performance.now()
      const first = [
        told(node, `cold.${word}.example`, '/first', { agent: PERSON }),
        told(node, 'warm.example', '/sitemap.xml'),
        told(node, `append.${word}.example`, '/robots.txt').then((said) => said.replace(', ours', '')),
        told(node, 'warm.example', '/forms-cold', MARKDOWN),
        told(node, 'warm.example', '/fresh-2'),
        api(node, 'GET', '/api/domains', { headers: { 'x-api-key': key } }).then(({ text }) => text),
      ]
      const answers = await Promise.all(first)
      t.diagnostic(`after ${Math.round(performance.now() - beganMs)} ms`)
      const passed = [DATABASE_PASSED, '200 pass; database', DATABASE_PASSED]
      assert.deepEqual(answers, [PERSON_PASSED, ...passed, '200 hit, the store', AWAY_ANSWER])
    })

    it(`${requests} hits and ${requests} people, half of them of domains that are new to the node, are served`, async (t) => {
      const beganMs = performance.now()
      assert.deepEqual(await sendTraffic(node, word, requests), allServed(requests))
      t.diagnostic(`in ${Math.round(performance.now() - beganMs)} ms`)
    })

    it('hits are as when connected, to the last byte', async () => {
      for (const [at, [name, path, options]] of HITS.entries()) {
        assert.deepEqual(await wholeAnswer(node, path, options), connected[at], name)
      }
    })

    for (const { name, run, expected } of EDGE_CASES) {
      it(name, async () => assert.deepEqual(await run(node, mode), expected))
    }

    it('keys, tokens, sessions and passwords, which only PostgreSQL can judge, get 503 and when to come again', () =>
      checkCredentials(node))

    if (WHOLE_API.has(word)) {
      it('every operation of the API gets 503 and when to come again, as the document says', () =>
        checkApi(node))
    }

    for (const [name, method, path, call, status] of OPEN_CALLS) {
      it(`${name}: ${status}, as before`, async () => {
        assert.equal((await api(node, method, path, call)).status, status)
      })
    }

    it('/readyz says 503, and /readyz/edge 200', async () => {
      const ready = await api(node, 'GET', '/readyz')
      assert.deepEqual([ready.status, JSON.parse(ready.text).database], [503, 'unreachable'])
      const edge = await api(node, 'GET', '/readyz/edge')
      const serving = { ready: true, state: 'serving', database: 'unreachable', domains: 'memory' }
      assert.deepEqual([edge.status, JSON.parse(edge.text)], [200, serving])
      assert((await metric(node, 'prepaint_database_away_seconds')) > 0)
    })

    it('afterwards all is as before: visits were counted, and a purge made meanwhile elsewhere holds', async (t) => {
      const counted = `new-0.${word}.example`
      for (let visit = 0; visit < VISITS; visit++) await ask(node, counted, '/any')
      if (node !== direct) {
        const body = { domain: 'warm.example', path: `/purged-${word}` }
        const purged = await api(direct, 'POST', '/api/cache/purge', { body, headers: { 'x-api-key': key } })
        assert.equal(purged.status, 200)
        assert.equal(await told(node, 'warm.example', `/purged-${word}`), '200 hit, the store')
      }
      await mode.end()
      assert.equal(await told(node, 'warm.example', '/fresh-1'), '200 hit, the store')
      assert.equal(await told(node, 'warm.example', '/any', { agent: PERSON }), PERSON_PASSED)
      await recovers(node, word, t)
      if (node !== direct) {
        assert.notEqual(await told(node, 'warm.example', `/purged-${word}`), '200 hit, the store')
      }
      await until('the visits are written', async () => (await visitsOf(node, counted)) >= VISITS)
      assert.equal(await visitsOf(node, counted), VISITS)
    })
  })
}

describe('while PostgreSQL flaps', () => {
  it(`${REQUESTS} hits and ${REQUESTS} people, half of them of domains that are new to the node, are served`, async (t) => {
    await warm(direct, { ...MODES[0]!, word: 'killed' })
    let flaps = 0
    let isOver = false
    const flapping = (async () => {
      while (!isOver || flaps < 5) {
        await (flaps % 2 === 0 ? server.kill() : server.stop())
        await server.start()
        flaps += 1
      }
    })()
    try {
      assert.deepEqual(await sendTraffic(direct, FLAPPING, REQUESTS), allServed(REQUESTS))
    } finally {
      isOver = true
      await flapping
    }
    t.diagnostic(`${flaps} flaps`)
    await recovers(direct, FLAPPING, t)
  })
})

describe('a start while PostgreSQL is away', () => {
  it('serves people and crawlers by the snapshot, and the other roles begin when PostgreSQL can be used', async (t) => {
    assert.equal(await direct.stop(), 0)
    await server.stop()
    direct = await start(dirs[1], direct.settings)
    t.diagnostic(`ready after ${Math.round(direct.readyMs)} ms`)
    assert.equal(direct.database, 'unreachable')
    assert.deepEqual(JSON.parse((await api(direct, 'GET', '/readyz/edge')).text), {
      ready: true,
      state: 'serving',
      database: 'unreachable',
      domains: 'snapshot',
    })
    assert.equal(await told(direct, 'cold.killed.example', '/any', { agent: PERSON }), PERSON_PASSED)
    assert.equal(await told(direct, 'warm.example', '/fresh-1'), DATABASE_PASSED)
    assert.equal(await told(direct, 'cold.killed.example', '/gone'), '410 rule, ours')
    assert.equal(await handshake(direct.edgeTls, 'secure.killed.example'), 'secure.killed.example')
    await checkApi(direct)
    for (const [name, method, path, call, status] of OPEN_CALLS) {
      assert.equal((await api(direct, method, path, call)).status, status, name)
    }

    // A check that fails for good: the node says why, and goes on serving people.
    await server.start()
    const newer = '9999-made-later.sql'
    await until('the schema is ahead', () =>
      pool.query(`insert into schema_migration (name, checksum, breaking) values ($1, '', true)`, [newer]),
    )
    await until('it says why it cannot use the database', () => direct.log().includes(newer))
    assert.equal(await told(direct, 'new-5.killed.example', '/any', { agent: PERSON }), PERSON_PASSED)
    assert.equal((await api(direct, 'GET', '/readyz')).status, 503)
    await pool.query('delete from schema_migration where name = $1', [newer])
    await recovers(direct, 'start', t)
    assert.equal(await told(direct, 'warm.example', '/fresh-1'), '200 hit, the store')
  })

  it('without a usable snapshot it ends with status 1, the reason and the name of the database', async () => {
    const dir = makeDataDir()
    const settings = {
      PREPAINT_DATA_DIR: dir,
      PREPAINT_API_PORT: '0',
      PREPAINT_EDGE_PORT: '0',
      PREPAINT_EDGE_TLS_PORT: '0',
      DATABASE_URL: 'postgres://prepaint:hidden-word@127.0.0.1:1/shop',
    }
    const { code, stdout, stderr } = await runPrepaint(['serve'], settings)
    assert.deepEqual(await clearDataDir(dir), [])
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /the database shop at 127\.0\.0\.1:1/)
    assert.doesNotMatch(stderr, /hidden-word/)
  })
})

const KILLS = ['first', 'second', 'third', 'fourth', 'fifth']

describe('kills of the private PostgreSQL', () => {
  it('take no person from the node, also of domains that are new to it', async () => {
    const dir = makeDataDir()
    const node = await start(dir, { PREPAINT_ROLES: 'edge,api' })
    const { key: ownKey } = await openAccount(node, { email: 'single@example.com', plan: 'enterprise' })
    for (const name of ['warm', ...KILLS]) {
      await registerDomain(node, ownKey, { customDomain: `${name}.example`, originUrl: origin.url })
    }
    const postgres = () =>
      processesOf(dir)
        .filter(({ command }) => /^\S*postgres -D/.test(command))
        .map(({ pid }) => pid)
    await until(
      'its snapshot is complete',
      async () => (await metric(node, 'prepaint_snapshot_domains')) === 6,
    )
    const seen = new Set<string>()
    for (const kill of KILLS) {
      for (const pid of postgres()) process.kill(pid, 'SIGKILL')
      seen.add(await told(node, `${kill}.example`, '/any', { agent: PERSON }))
      let asked = 0
      await until('it runs again', async () => {
        seen.add(await told(node, 'warm.example', '/any', { agent: PERSON }))
        asked += 1
        return asked > 20 && (await isReady(node))
      })
    }
    assert.deepEqual([...seen], [PERSON_PASSED])
    assert.equal(await node.stop(), 0)
    assert.deepEqual(await clearDataDir(dir), [])
  })
})

describe('the log of all that', () => {
  it('has at most 60 lines of level warn or above in any minute', (t) => {
    for (const node of started) {
      const times = node.warnings().map(({ time }) => Date.parse(time))
      const inMinute = times.map(
        (from) => times.filter((time) => time >= from && time < from + 60_000).length,
      )
      t.diagnostic(`${times.length} lines, at most ${Math.max(0, ...inMinute)} in a minute`)
      assert(Math.max(0, ...inMinute) <= 60, JSON.stringify(node.warnings().slice(-20)))
    }
  })
})
