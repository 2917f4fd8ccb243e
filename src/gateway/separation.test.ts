/** Connections are no way from one domain to another: each context's gateway has its own, also to the same host. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { it } from 'node:test'

import ipaddr from 'ipaddr.js'

import { silentLog } from '../log.ts'
import { startGateway } from './gateway.ts'

it('a kept connection of one site is used again by it, and by no other site', async (t) => {
  const ports: (number | undefined)[] = []
  const host = http.createServer((request, response) => {
    ports.push(request.socket.remotePort)
    response.end('x')
  })
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
  const { port } = host.address() as AddressInfo
  const gateway = await startGateway({
    allowed: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port }],
    log: silentLog(),
  })
  t.after(async () => {
    await gateway.close()
    host.closeAllConnections()
    host.close()
  })
  const open = (customDomain: string) =>
    gateway.openSite({ customDomain, originUrl: `http://127.0.0.1:${port}` })
  const [red, blue] = [await open('red.example'), await open('blue.example')]
  assert.notEqual(red.proxyUrl, blue.proxyUrl)

  /** As a page asks for something of another host, and of its own. */
  const ask = async (proxyUrl: string, target: string) => {
    const request = http.get(proxyUrl, {
      path: target,
      headers: { host: new URL(target).host },
      agent: false,
    })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    assert.equal(response.statusCode, 200)
    response.resume()
    await once(response, 'end')
  }
  const other = `http://127.0.0.1:${port}/`
  await ask(red.proxyUrl, other)
  await ask(red.proxyUrl, other)
  await ask(blue.proxyUrl, other)
  await ask(blue.proxyUrl, 'http://blue.example/')
  await ask(red.proxyUrl, 'http://red.example/')
  const [first, again, ofBlue, ownOfBlue, ownOfRed] = ports
  assert.equal(again, first)
  assert.notEqual(ofBlue, first)
  assert.notEqual(ownOfBlue, first)
  assert(ownOfRed !== ofBlue && ownOfRed !== ownOfBlue)
})
