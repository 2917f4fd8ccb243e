/** The edge process of `bench/stress.ts`: everything but PostgreSQL and Chromium is real. */

import type net from 'node:net'
import type { AddressInfo } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { createEdge } from '@prepaint/edge/edge.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { MemoryBackend, servedDomain } from '../test/support/memory-backend.ts'

export type Told = { rssBytes: number; heapBytes: number; outsideBytes: number; connections: number }

/** `shop.example` has an origin that answers, `hung.example` one that never does. */
const ORIGINS: Record<string, string> = {
  'shop.example': `http://127.0.0.1:${process.argv[2]}`,
  'hung.example': `http://127.0.0.1:${process.argv[3]}`,
}
const { privateKey, certificate } = createSelfSigned('shop.example')
const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
const context = createSecureContext({ key, cert: certificate })

const domains = Object.entries(ORIGINS).map(([name, originUrl], at) =>
  servedDomain({ id: (at + 1) as DomainId, name: name as DomainName, originUrl }),
)
// No renders: every crawler waits for its longest time and is passed.
const backend = new MemoryBackend(domains)
backend.answered = () => {}

const { plain, secure } = createEdge(
  backend,
  {
    clock: systemClock,
    log: silentLog(),
    origins: createClient(createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }])),
    verifyCrawler: null,
    tls: { contextFor: () => context },
    findChallenge: null,
  },
  { memoryBytes: 64 * 1024 * 1024, liveWaitMs: 3_000, keepAliveMs: 600_000, headersMs: 600_000 },
)

await listen(plain)
await listen(secure!)
process.on('message', () => {
  plain.getConnections((_error, plainly) => {
    secure!.getConnections((_again, securely) => {
      const { rss, heapUsed, external } = process.memoryUsage()
      const told: Told = {
        rssBytes: rss,
        heapBytes: heapUsed,
        outsideBytes: external,
        connections: plainly + securely,
      }
      process.send!(told, () => {})
    })
  })
})
process.on('disconnect', () => process.exit())
process.send!({ port: portOf(plain), tlsPort: portOf(secure!) })

function listen(server: net.Server): Promise<void> {
  return new Promise((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => resolve())
  })
}

function portOf(server: net.Server): number {
  return (server.address() as AddressInfo).port
}
