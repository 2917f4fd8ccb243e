import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'
import { createSecureContext } from 'node:tls'
import { utcMonth } from '@prepaint/contract/dates.ts'
import type { AccountId, DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createEdge, type EdgeOptions, type EdgeParts } from '@prepaint/edge/edge.ts'
import type { EdgeTls } from '@prepaint/edge/server/servers.ts'
import { createAddressGuard, type OpenOriginHeaders } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { Converter } from '@prepaint/pages/forms/converter.ts'
import { PageForms } from '@prepaint/pages/forms/stored-form.ts'
import { type Ended, JobWaiter, type WaitedFor } from '@prepaint/pages/queue/jobs/await.ts'
import { createEnqueueLive, type EnqueueLive } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { AskedPaths } from '@prepaint/pages/store/known-paths.ts'
import { deletePages, type PurgeWhat } from '@prepaint/pages/store/purge.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type { Notifications } from '@prepaint/runtime/invalidation.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { NodeBackend, type RequestRecorder, type WithoutDatabase } from '../../bin/node/edge-backend.ts'
import { type ClaimedJob, Claims } from '../../packages/pages/src/queue/jobs/claim.ts'
import { JobCompleter } from '../../packages/pages/src/queue/jobs/complete.ts'
import { Notices } from '../../packages/pages/src/queue/jobs/notices.ts'
import { insertDomain, testDatabase } from './database.ts'
import { listening, serve } from './loopback.ts'
import { readOutcome, type UnreadOutcome } from './outcome.ts'

export const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
export const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'
export const FACEBOOK = 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)'
export const PERSON = 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'

export type Answer = {
  status: number
  headers: http.IncomingHttpHeaders
  rawHeaders: string[]
  body: Buffer
  verdict: string | undefined
}

export type AskOptions = {
  host?: string
  agent?: string | null
  method?: string
  /** Lists become several lines. */
  headers?: Record<string, string | readonly string[]>
  body?: string | Buffer
}

export type Scripted = UnreadOutcome | 'hang'

type TestParts = {
  outage: WithoutDatabase
  openHeaders: OpenOriginHeaders
  enqueueLive: EnqueueLive
  waiter: { wait(job: JobId, signal: AbortSignal): Promise<WaitedFor | 'late'> }
}

/** Uses real PostgreSQL and the real queue. Render outcomes are scripted, the clock is manual. */
export async function startTestEdge(
  options: Partial<EdgeOptions> & {
    parts?: Partial<EdgeParts & RequestRecorder & TestParts>
    /** For making Markdown or a card. */
    conversionMs?: number
    origin?: http.RequestListener
    queries?: SeeQuery
    /** What hits need is read through other connections than `queries` sees. */
    isReadApart?: boolean
    render?: (job: ClaimedJob) => Promise<UnreadOutcome>
    /** Receives job ends instead of the crawlers that wait at this node. */
    ended?: Ended
    tls?: boolean
  } = {},
) {
  const database = await testDatabase()
  const { pool, connection, column } = database
  const bodies = BodyStore.none(pool, silentLog())
  let nowMs = Date.now()
  const clock = { nowMs: () => nowMs }
  const log = silentLog()

  const origin = await serve(
    options.origin ?? ((req, res) => res.end(`<div id="app"></div> ${req.headers.host} ${req.url}`)),
  )
  const [account] = await column<AccountId>(
    `insert into account (email, plan) values ('red@example.com', 'starter') returning id`,
  )
  const addDomain = async (name: string): Promise<DomainId> => {
    const id = await insertDomain(pool, name, { account: account!, originUrl: origin.url })
    await pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host: name })])
    return id
  }
  const red = await addDomain('red.example')
  const blue = await addDomain('blue.example')

  const scripted: Scripted[] = []
  let settles = 0
  const rendered: string[] = []
  const refreshed: string[] = []
  const allowed = [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]
  const origins = createClient(createAddressGuard(allowed), { clock })
  const claims = new Claims(pool, DEFAULT_PLANS, 'test-node', {
    accountCap: 9,
    domainCap: 9,
    domainBackgroundCap: 9,
    leaseMs: 60_000,
    liveWaitMs: 10_000,
  })

  /** Retries once: a claim skips a job whose row is locked. */
  async function claimOne(): Promise<ClaimedJob | null> {
    for (;;) {
      const { claimed } = await claims.claim({ slots: 1, backgroundSlots: 1, occupied: [] }, nowMs)
      if (claimed[0] !== undefined) return claimed[0]
      const { rowCount } = await pool.query(`select from job where state = 'queued'`)
      if (rowCount === 0) return null
    }
  }

  const enqueueLive = createEnqueueLive(pool, pool, DEFAULT_PLANS, clock, 10_000)

  /** Renders whose notices may not have been sent yet. */
  const underWay = new Set<Promise<void>>()

  function work(ended: Ended): Promise<void> {
    const one = workOnce(ended).finally(() => underWay.delete(one))
    underWay.add(one)
    return one
  }

  async function workOnce(ended: Ended): Promise<void> {
    const notices = new Notices(pool, silentLog())
    const completer = new JobCompleter(pool, DEFAULT_PLANS, clock, notices, bodies, ended)
    const job = await claimOne()
    if (job === null) return
    const url = `${job.customDomain}${job.page.path}`
    rendered.push(url)
    const html = `<h1>${url}</h1><p>render ${rendered.length}</p>`
    const page: UnreadOutcome = { kind: 'rendered', status: 200, headers: [], html }
    const outcome = scripted.shift() ?? (await options.render?.(job)) ?? page
    if (outcome === 'hang') return
    await completer.complete(job, readOutcome(outcome, `https://${url}`))
    await notices.close()
  }

  async function node() {
    const listener = await createListener(connection, log)
    const waiter = new JobWaiter(listener, pool, log)
    const asked = new AskedPaths(pool, clock, log, { flushEveryMs: 60_000 })
    const get = { origins, userAgent: 'Prepaint' }
    const db = options.queries === undefined ? pool : seenQueries(pool, options.queries)
    const openHeaders = options.parts?.openHeaders ?? (() => [])
    const robots = new RobotsFiles(db, pool, get, openHeaders, clock, log)
    let take = (_payload: string) => {}
    const changes: Notifications = {
      get connected() {
        return listener.connected
      },
      on(channel, receive) {
        take = receive
        listener.on(channel, receive)
      },
      onLost: (react) => listener.onLost(react),
    }
    const seenPool = seenQueries(pool, ({ name, values }) => {
      if (name === 'queue-enqueue') refreshed.push(...(values[1] as string[]))
    })
    const enqueueAndWork: EnqueueLive = async (page, requestId, crawler) => {
      const job = await enqueueLive(page, requestId, crawler)
      if (job === 'over-quota') return job
      if (scripted[0] === 'hang') scripted.shift()
      else void work(options.ended ?? waiter.ended)
      return job
    }
    const recorder: RequestRecorder = {
      noteAsked: (page) => asked.note(page),
      noteVisit: () => {},
      receiveCheck: async () => null,
      noteRedirect: () => {},
      noteRefused: () => {},
      answered: () => {},
      ...options.parts,
    }
    const backend = new NodeBackend(
      options.isReadApart === true ? pool : db,
      db,
      seenPool,
      bodies,
      changes,
      openHeaders,
      options.parts?.enqueueLive ?? enqueueAndWork,
      options.parts?.waiter ?? waiter,
      new PageForms(db, seenPool, new Converter(options.conversionMs), bodies, log),
      robots,
      recorder,
      options.parts?.outage ?? { isAway: false, keptDomain: () => null, untilAway: (use) => use() },
      clock,
    )
    const edge = createEdge(
      backend,
      {
        clock,
        log,
        origins,
        verifyCrawler: null,
        tls: options.tls === true ? testTls() : null,
        findChallenge: null,
        ...options.parts,
      },
      { memoryBytes: 64 * 1024 * 1024, liveWaitMs: 5_000, ...options },
    )
    await listener.settled()
    const port = await listening(edge.server)
    const tlsPort = edge.secure === null ? 0 : await listening(edge.secure)
    /** Earlier notifications have reached this node, because they keep their order. */
    async function settled(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const channel = `settled_${settles++}`
      listener.on(channel, () => resolve())
      await listener.settled()
      await pool.query('select pg_notify($1, $2)', [channel, ''])
      await promise
    }
    const ask = (path: string, asking: AskOptions = {}) => request(port, path, asking)
    return {
      ask,
      port,
      tlsPort,
      edge,
      server: edge.server,
      integrations: edge.integrations,
      robots,
      /** As after a notification that this version does not understand. */
      emptyMemory: () => take('{}'),
      asked,
      listener,
      settled,
      waiting: () => waiter.waiting,
      verdict: async (path: string, asking?: AskOptions) => (await ask(path, asking)).verdict,
      session: (t: { after(end: () => unknown): void }) => openSession(t, tlsPort),
      async close() {
        edge.server.closeAllConnections()
        edge.server.close()
        edge.secure?.close()
        edge.endSessions()
        waiter.close()
        await asked.close()
        await listener.close()
      },
    }
  }

  const first = await node()

  /** In effect when the promise resolves. */
  async function set(columns: string, name = 'red.example'): Promise<void> {
    await pool.query(`update domain set ${columns} where custom_domain = $1`, [name])
    await pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host: name })])
    await first.settled()
  }
  const purge = (what: PurgeWhat, domain = red) =>
    transaction(pool, (client) => deletePages(client, domain, what, 'purge'))

  return {
    ...first,
    node,
    pool,
    account: account!,
    red,
    blue,
    addDomain,
    origin: origin.url,
    originServer: origin.server,
    rendered,
    refreshed,
    work: () => work(() => {}),
    /** All that was rendered is told to the nodes: an answer may come before that. */
    async told(): Promise<void> {
      await Promise.all(underWay)
    },
    wait: (ms: number) => {
      nowMs += ms
    },
    nowMs: () => nowMs,
    script: (...outcomes: Scripted[]) => void scripted.push(...outcomes),
    purge,
    set,
    settings: (settings: object, name?: string) => set(`settings = '${JSON.stringify(settings)}'`, name),
    /** So many renders of `red.example` are used up in this month. */
    async count(renders: number): Promise<void> {
      await pool.query(
        `insert into render_count values ($1, $2, $3)
           on conflict (domain_id, month) do update set renders = excluded.renders`,
        [red, utcMonth(nowMs), renders],
      )
    },
    async counted(): Promise<number> {
      const { rows } = await pool.query('select coalesce(sum(renders), 0)::int as renders from render_count')
      return rows[0].renders
    },
    /** Nothing stored, queued, counted or set. */
    async reset() {
      for (const domain of [red, blue]) await purge({ kind: 'all' }, domain)
      await pool.query('delete from job; delete from job_ended')
      await pool.query('delete from render_count')
      await set(`is_active = true, settings = '{}'`)
      rendered.length = 0
      refreshed.length = 0
    },
    async close() {
      await first.close()
      await origin.close()
      origins.close()
      await database.close()
    },
  }
}

/** Answers with up to 512 MiB, as fast as they are taken. Returns how many were written. */
export function pour(res: http.ServerResponse): () => number {
  const piece = Buffer.alloc(1024 * 1024)
  let written = 0
  const more = () => {
    for (let takes = true; takes && written < 512 && !res.destroyed; written++) takes = res.write(piece)
    if (written < 512) res.once('drain', more)
  }
  more()
  return () => written
}

type SeeQuery = (query: { name: string; values: unknown[] }) => void | object[] | Promise<void>

/** Calls `see` before each named query; it may throw, or return the rows. */
export function seenQueries(pool: Queryable, see: SeeQuery): Queryable {
  const query = async (...given: [unknown]) => {
    const asked = given[0] as Parameters<SeeQuery>[0] | string
    const rows = typeof asked === 'string' ? undefined : await see(asked)
    return rows === undefined ? Reflect.apply(pool.query, pool, given) : { rows }
  }
  return { query } as Queryable
}

export type TestEdge = Awaited<ReturnType<typeof startTestEdge>>

/** An edge for all tests of a file, or for one of them. */
export async function openEdge(
  options?: Parameters<typeof startTestEdge>[0],
  t: { after(end: () => unknown): void } = { after },
): Promise<TestEdge> {
  const edge = await startTestEdge(options)
  t.after(() => edge.close())
  return edge
}

/** For `red.example` and `blue.example`; other names have no certificate. */
export function testTls(): EdgeTls {
  const { privateKey, certificate } = createSelfSigned('red.example')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const context = createSecureContext({ key, cert: certificate })
  return { contextFor: (name) => (/^(red|blue)\.example$/.test(name) ? context : null) }
}

/** HTTP/2, to `red.example`. */
export function openSession(t: { after(end: () => unknown): void }, port: number): http2.ClientHttp2Session {
  const session = http2.connect(`https://127.0.0.1:${port}`, {
    ...{ servername: 'red.example', rejectUnauthorized: false },
  })
  session.on('error', () => {})
  t.after(() => session.destroy())
  return session
}

export function path(text: string): PagePath {
  return text as PagePath
}

export async function request(port: number, target: string, asking: AskOptions = {}): Promise<Answer> {
  const { host = 'red.example', agent = GOOGLEBOT, method = 'GET', headers = {}, body } = asking
  const connections = new http.Agent({ keepAlive: true })
  const req = http.request({
    host: '127.0.0.1',
    port,
    path: target,
    method,
    agent: connections,
    headers: { host, ...(agent === null ? {} : { 'user-agent': agent }), ...headers },
  })
  req.end(body)
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  const received = await buffer(res)
  connections.destroy()
  return {
    status: res.statusCode!,
    headers: res.headers,
    rawHeaders: res.rawHeaders,
    body: received,
    verdict: res.headers['x-prepaint'] as string | undefined,
  }
}
