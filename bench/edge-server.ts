/**
 * The edge of `bench/edge.ts`, in a process of its own, as a node wires it:
 * with its gate, its metrics and guarded connections. Pages are made here, or
 * lie in PostgreSQL. Its first line says where it listens; it ends with its input.
 */
import http from 'node:http'
import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'

import ipaddr from 'ipaddr.js'
import pg from 'pg'
import { Registry } from 'prom-client'
import { systemClock } from '../src/clock.ts'
import { loadConfig } from '../src/config.ts'
import { CONNECTION_DEFAULTS } from '../src/db/connection.ts'
import { createEdge, type EdgeParts } from '../src/edge/edge.ts'
import { createSelfSigned } from '../src/gateway/tls-key.ts'
import type { JobId } from '../src/ids.ts'
import { createEdgeMetrics } from '../src/insight/metrics/edge-metrics.ts'
import { silentLog } from '../src/log.ts'
import { createAddressGuard } from '../src/outbound/address-guard.ts'
import { createClient } from '../src/outbound/client/pool.ts'
import { domainByHost } from '../src/sites/domains.ts'
import { readStored } from '../src/store/stored-page.ts'

export type ServerTask = {
  /** `bare`: node:http with the same bytes, and nothing else. */
  kind: 'edge' | 'bare'
  originPort: number
  /** null: pages of the size that their path says, `/8`. */
  connection: pg.ClientConfig | null
  memoryBytes: number
  /** 0: a free one. Shared with whoever else asks for the same. */
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
  return createEdge(
    {
      clock: systemClock,
      log: silentLog(),
      origins: createClient(createAddressGuard(loopback)),
      answered: (_req, answer) => metrics.answered(answer),
      tls: { contextFor: () => context },
      connected: () => true,
      ...(task.connection === null ? madeHere() : inDatabase(poolTo(task.connection))),
      readUnstored: async () => null,
      enqueueLive: async () => 'none' as JobId,
      enqueueRefresh: async () => {},
      waitForJob: async () => 'late',
      noteAsked: () => {},
      readSitemap: async () => null,
      storeSitemap: async () => {},
      dropSitemap: async () => {},
      namedInIndexes: async () => [],
      recordInSitemap: async () => {},
    },
    { memoryBytes: task.memoryBytes, liveWaitMs: 1_000, clients: loadConfig({}).clients },
  )
}

function madeHere(): Pick<EdgeParts, 'domainByHost' | 'readStored'> {
  const origin_url = `http://127.0.0.1:${task.originPort}`
  const row = { id: 1, account_id: 1, custom_domain: 'shop.example', is_active: true, settings: {} }
  return {
    domainByHost: async () => ({ ...row, origin_url }),
    readStored: async ({ path }) => {
      const page = { kind: 'page', status: 200, htmlBytes: 0, etag: 'x', staleSinceMs: null } as const
      const headers = [['Content-Type', 'text/html; charset=utf-8']] as const
      return { ...page, headers, bodyBr: bodyOf(path), renderedAtMs }
    },
  }
}

/** Fewer connections than a node has: four edges share one private PostgreSQL. */
function poolTo(connection: pg.ClientConfig): pg.Pool {
  return new pg.Pool({
    ...CONNECTION_DEFAULTS,
    ...connection,
    max: 8,
    idleTimeoutMillis: 0,
    application_name: 'edge',
  })
}

function inDatabase(pool: pg.Pool): Pick<EdgeParts, 'domainByHost' | 'readStored'> {
  return {
    domainByHost: (host) => domainByHost(pool, host),
    readStored: (page) => readStored(pool, page),
  }
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
