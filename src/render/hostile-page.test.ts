/** The hostile page, rendered as a node renders it: nothing of the canary is in the snapshot, and nothing of this machine. */
import assert from 'node:assert/strict'
import dgram from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type net from 'node:net'
import { after, it } from 'node:test'
import { hostileHeaders, hostilePage } from '../../test/support/hostile-page.ts'
import { openRenderer } from '../../test/support/renderer.ts'

const MARK = 'canary-was-here'
const renderer = await openRenderer({ timeoutMs: 100_000 })
const reached: string[] = []

/** Answers everybody, readable from every origin, as HTML, script or style. */
async function openCanary(port: number, host: string): Promise<number> {
  const canary = http.createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'access-control-allow-origin': '*' }).end(MARK)
  })
  canary.on('connection', () => reached.push(host))
  canary.listen(port, host)
  await once(canary, 'listening')
  after(() => canary.close())
  return (canary.address() as net.AddressInfo).port
}
const samePort = Number(new URL(renderer.originUrl).port)
await openCanary(samePort, '127.0.0.2')
const port = await openCanary(0, '127.0.0.1')
const udp = dgram.createSocket('udp4', () => reached.push('by a datagram'))
udp.bind(0, '0.0.0.0')
await once(udp, 'listening')
after(() => udp.close())
const ways = { port, samePort, udpPort: udp.address().port }

it('reaches nothing, and its snapshot holds nothing that it should not', async () => {
  const page = hostilePage(ways).replace(
    '</body>',
    `<script>window.prerenderReady = false
    const seen = []
    hostile().then(async (tried) => {
      for (const frame of document.querySelectorAll('iframe,object,embed')) try { seen.push(frame.contentDocument?.documentElement?.textContent ?? '') } catch {}
      for (const host of HOSTS) try { seen.push(await (await fetch('http://' + host + '/')).text()) } catch {}
      const p = document.createElement('p')
      p.textContent = 'tried ' + tried.length + ' ' + seen.join(' ')
      document.body.append(p)
      prerenderReady = true
    })</script></body>`,
  )
  renderer.routes.set('/hostile', (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html', ...hostileHeaders(ways) }).end(page),
  )
  renderer.routes.set('/redirect', (request, response) => {
    const to = new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? ''
    response.writeHead(302, { location: to }).end()
  })
  const html = await renderer.html('/hostile')
  assert.match(html, /tried [78]\d /)
  assert.deepEqual(reached, [])
  assert(!html.includes(MARK))
  const [firstUser = 'root:'] = readFileSync('/etc/passwd', 'utf8').split('\n')
  assert(!html.includes(firstUser))
  // The other half: the canary does answer.
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), MARK)
})
