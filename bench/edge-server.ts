/** The edge process of `bench/edge.ts`, wired as in a node. Prints its address first; ends with its stdin. */

import http from 'node:http'
import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { DomainName } from '@prepaint/contract/ids.ts'
import { createEdge } from '@prepaint/edge/edge.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { createStoredReader } from '@prepaint/pages/store/stored-page.ts'
import { CONNECTION_DEFAULTS } from '@prepaint/postgres/connection.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import { EdgeMetrics } from '@prepaint/service/insight/metrics/edge-metrics.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import { domainByHost } from '@prepaint/service/sites/domains.ts'
import ipaddr from 'ipaddr.js'
import pg from 'pg'
import { Registry } from 'prom-client'
import { loadConfig } from '../bin/settings/config.ts'
import { MemoryBackend, servedDomain } from '../test/support/memory-backend.ts'

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
  const metrics = new EdgeMetrics(new Registry())
  const loopback = [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]
  const pool = task.connection === null ? null : poolTo(task.connection)
  const log = silentLog()
  const traffic = pool === null ? null : new TrafficCounter(pool, systemClock, log)
  const backend = madeHere()
  if (pool !== null) {
    backend.findDomain = (host) => domainByHost(pool, host, () => [])
    backend.readPage = createStoredReader(pool)
  }
  backend.answered = (request, answer) => {
    metrics.answered(answer)
    traffic?.count(request, answer)
  }
  return createEdge(
    backend,
    {
      clock: systemClock,
      log,
      origins: createClient(createAddressGuard(loopback)),
      verifyCrawler: null,
      tls: { contextFor: () => context },
      findChallenge: null,
    },
    { memoryBytes: task.memoryBytes, liveWaitMs: 1_000, clients: loadConfig({}).clients },
  )
}

/** Replaces PostgreSQL: one domain, and pages of the size in their path. */
function madeHere(): MemoryBackend {
  const originUrl = `http://127.0.0.1:${task.originPort}`
  const backend = new MemoryBackend([servedDomain({ name: 'shop.example' as DomainName, originUrl })])
  backend.readPage = async ({ path, variant }) => ({
    kind: 'page',
    variant,
    status: 200,
    headers: [['Content-Type', 'text/html; charset=utf-8']],
    bodyBr: bodyOf(path),
    htmlBytes: 0,
    etag: 'x',
    renderedAtMs,
    staleSinceMs: null,
  })
  backend.noteAsked = () => {}
  backend.noteVisit = () => {}
  return backend
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
