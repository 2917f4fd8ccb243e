/** Renders a page whose script hangs, and prints when it does; to be killed. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import ipaddr from 'ipaddr.js'
import { systemClock } from '../../src/clock.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { DomainName, PagePath } from '../../src/ids.ts'
import { silentLog } from '../../src/log.ts'
import { startRenderer } from '../../src/render/renderer.ts'
import { testChromium } from './data-dir.ts'

const log = silentLog()
const origin = http.createServer((request, response) => {
  if (request.url === '/looping') console.log('looping')
  response.setHeader('content-type', 'text/html')
  response.end('<script>fetch("/looping").then(() => { while (true) {} })</script>')
})
origin.listen(0, '127.0.0.1')
await once(origin, 'listening')
const renderer = await startRenderer({
  identity: 'Prepaint/0.0.0-test',
  chromium: testChromium,
  dataDir: process.argv[2] ?? '',
  slots: 1,
  timeoutMs: 60_000,
  requireSandbox: false,
  openGateway: () => startGateway({ allowed: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }], log }),
  clock: systemClock,
  log,
})
await renderer.render({
  customDomain: 'loop.example' as DomainName,
  originUrl: `http://127.0.0.1:${(origin.address() as AddressInfo).port}`,
  path: '/' as PagePath,
  signal: new AbortController().signal,
})
