/** Speed and memory of large bodies through the edge: `node bench/large-bodies.ts [mebibytes = 1024]`. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { machineLine } from './figures.ts'
import type { Told } from './stress-edge.ts'

const bytes = Number(process.argv[2] ?? 1_024) * 2 ** 20
const PIECE = Buffer.alloc(64 * 1024, 'x')

const origin = http.createServer(async (req, res) => {
  if (req.method === 'POST') res.end(`${await counted(req)}`)
  else await pipeline(pieces(), res).catch(() => {})
})
origin.listen(0, '127.0.0.1')
await once(origin, 'listening')
const originPort = (origin.address() as AddressInfo).port
const edge = fork(path.join(import.meta.dirname, 'stress-edge.ts'), [`${originPort}`, '1'])
const [{ port, tlsPort }] = (await once(edge, 'message')) as [{ port: number; tlsPort: number }]
const session = http2.connect(`https://127.0.0.1:${tlsPort}`, {
  ...{ servername: 'shop.example', rejectUnauthorized: false },
  settings: { initialWindowSize: 1024 * 1024 },
})

console.log(machineLine())
console.log('what | MiB/s | RSS of the edge before, at most, after (MiB)')
await measured('download, HTTP/1.1', async () => counted(await exchange1('GET')))
await measured('upload, HTTP/1.1', async () => Number(await text(await exchange1('POST'))))
await measured('download, HTTP/2', async () => counted(exchange2('GET')))
await measured('upload, HTTP/2', async () => Number(await text(exchange2('POST'))))
session.close()
edge.disconnect()
origin.closeAllConnections()
origin.close()

async function measured(name: string, run: () => Promise<number>): Promise<void> {
  const before = await rss(edge)
  let most = before
  const look = setInterval(async () => {
    most = Math.max(most, await rss(edge))
  }, 200)
  const begun = performance.now()
  const arrived = await run()
  const seconds = (performance.now() - begun) / 1_000
  clearInterval(look)
  if (arrived !== bytes) throw new Error(`${name}: ${arrived} of ${bytes} bytes arrived`)
  const after = await rss(edge)
  const memory = [before, Math.max(most, after), after]
    .map((value) => (value / 2 ** 20).toFixed(0))
    .join(', ')
  console.log([name, (bytes / 2 ** 20 / seconds).toFixed(0), memory].join(' | '))
}

function pieces(): Readable {
  return Readable.from(
    (function* () {
      for (let sent = 0; sent < bytes; sent += PIECE.length) yield PIECE.subarray(0, bytes - sent)
    })(),
  )
}

async function exchange1(method: string): Promise<Readable> {
  const headers = { host: 'shop.example', 'user-agent': 'a person' }
  const req = http.request({ host: '127.0.0.1', port, method, headers, agent: false })
  send(req, method)
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  return res
}

function exchange2(method: string): Readable {
  const stream = session.request(
    { ':method': method, ':path': '/', ':authority': 'shop.example' },
    { endStream: method === 'GET' },
  )
  if (method === 'POST') send(stream, method)
  return stream
}

function send(to: Writable, method: string): void {
  if (method === 'POST') void pipeline(pieces(), to)
  else to.end()
}

async function counted(from: Readable): Promise<number> {
  let count = 0
  for await (const part of from as AsyncIterable<Buffer>) count += part.length
  return count
}

async function text(from: Readable): Promise<string> {
  return Buffer.concat((await from.toArray()) as Buffer[]).toString()
}

async function rss(process: ChildProcess): Promise<number> {
  process.send('tell')
  const [told] = (await once(process, 'message')) as [Told]
  return told.rssBytes
}
