import ipaddr from 'ipaddr.js'
import { systemClock } from '../../src/clock.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { DomainName, PagePath } from '../../src/ids.ts'
import { silentLog } from '../../src/log.ts'
import { startRenderer } from '../../src/render/renderer.ts'
import { testChromium } from './data-dir.ts'
import { serve } from './loopback.ts'

const log = silentLog()
const { url: originUrl } = await serve((request, response) => {
  if (request.url === '/looping') console.log('looping')
  response.setHeader('content-type', 'text/html')
  response.end('<script>fetch("/looping").then(() => { while (true) {} })</script>')
})
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
  originUrl,
  path: '/' as PagePath,
  signal: new AbortController().signal,
})
