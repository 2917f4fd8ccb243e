/** The edge process of `bench/edge.ts`, wired as in a node. Prints its address first; ends with its stdin. */
import http from 'node:http'
import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { JobId } from '@prepaint/contract/ids.ts'
import { createEdge } from '@prepaint/edge/edge.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { CONNECTION_DEFAULTS } from '@prepaint/postgres/connection.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import { createEdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { createTraffic } from '@prepaint/service/insight/traffic/visit-counter.ts'
import ipaddr from 'ipaddr.js'
import pg from 'pg'
import { Registry } from 'prom-client'
import { loadConfig } from '../bin/settings/config.ts'

export type ServerTask = {
  /** `bare`: only node:http with the same bytes. */
  kind: 'edge' | 'bare'
  originPort: number
  /** null: the path gives the page size, for example `/8`. */
  connection: pg.ClientConfig | null
  memoryBytes: number
  /** 0: a free port. Several edges may share a port. */
  port: number
  tlsPort: number
}

export type ServerPlace = { port: number; tlsPort: number }

const task = JSON.parse(process.argv[2]!) as ServerTask
const renderedAtMs = systemClock.nowMs()

const servers = task.kind === 'edge' ? edge() : { plain: bare(), secure: null }
const place: ServerPlace = { port: await listening(servers.plain, task.port), tlsPort: 0 }
if (servers.secure !== null) place.tlsPort = await listening(servers.secure, task.tlsPort)
console.log(JSON.stringify(place))
process.stdin.resume().once('end', () => process.exit())

function edge(): { plain: net.Server; secure: net.Server | null } {
  const { privateKey, certificate } = createSelfSigned('shop.example')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const context = createSecureContext({ key, cert: certificate })
  const metrics = createEdgeMetrics(new Registry())
  const loopback = [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]
  const pool = task.connection === null ? null : poolTo(task.connection)
  const db = pool ?? madeHere()
  const log = silentLog()
  const traffic = pool === null ? null : createTraffic({ pool, clock: systemClock, log })
  return createEdge(
    {
      clock: systemClock,
      log,
      db,
      pool: db,
      notifications: { connected: true },
      origins: createClient(createAddressGuard(loopback)),
      enqueueLive: async () => 'none' as JobId,
      waiter: { wait: async () => 'late' },
      knownPaths: { note: () => {} },
      lastVisits: { note: () => {} },
      redirectUses: { note: () => {} },
      verifyCrawler: null,
      answered(req, answer) {
        metrics.answered(answer)
        traffic?.count(req, answer)
      },
      tls: { contextFor: () => context },
      findChallenge: null,
    },
    { memoryBytes: task.memoryBytes, liveWaitMs: 1_000, clients: loadConfig({}).clients },
  )
}

/** Replaces PostgreSQL: one domain, and pages of the size in their path. */
function madeHere(): Queryable {
  const origin_url = `http://127.0.0.1:${task.originPort}`
  const domain = { id: 1, account_id: 1, custom_domain: 'shop.example', is_active: true, settings: {} }
  const page = { status: 200, html_bytes: 0, etag: 'x', stale_since: null, changed_at: null }
  const headers = [['Content-Type', 'text/html; charset=utf-8']]
  const rendered_at = new Date(renderedAtMs)
  const query = async ({ name, values }: { name: string; values: string[] }) => {
    if (name === 'domain-by-host') return { rows: [{ ...domain, origin_url }] }
    if (name !== 'stored-page-read') return { rows: [] }
    return { rows: [{ ...page, headers, body_br: bodyOf(values[1]!), rendered_at, redirect_status: null }] }
  }
  return { query: query as unknown as Queryable['query'] }
}

function poolTo(connection: pg.ClientConfig): pg.Pool {
  return new pg.Pool({
    ...CONNECTION_DEFAULTS,
    ...connection,
    max: 8,
    idleTimeoutMillis: 0,
    application_name: 'edge',
  })
}

function bare(): http.Server {
  const bodies = new Map(['/8', '/60'].map((path) => [path, bodyOf(path)]))
  return http.createServer((req, res) => {
    const body = bodies.get(req.url!)!
    const headers = ['Content-Type', 'text/html; charset=utf-8', 'Content-Encoding', 'br', 'ETag', '"x"']
    headers.push('Content-Length', `${body.length}`, 'Vary', 'Accept-Encoding', 'X-Prepaint', 'hit')
    res.writeHead(200, headers)
    res.end(body)
  })
}

function bodyOf(path: string): Buffer {
  return Buffer.alloc(Number(path.slice(1)) * 1024, 'x')
}

function listening(server: net.Server, port: number): Promise<number> {
  return new Promise((resolve) => {
    const done = () => resolve((server.address() as AddressInfo).port)
    server.listen({ port, host: '127.0.0.1', backlog: 4_096, reusePort: true }, done)
  })
}
