/**
 * `node bench/stress.ts [connections = 10000] [seconds of each phase = 5]`
 * Times people's requests beside idle, slow or hanging connections, and measures memory. The last line is JSON. Needs
 * as many open files as connections (`ulimit -n`). Exit code 1: a request got no response.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'

import { machineLine, percentile } from './figures.ts'
import type { Told } from './stress-edge.ts'

const connections = Number(process.argv[2] ?? 10_000)
const seconds = Number(process.argv[3] ?? 5)
const PEOPLE = 4
const PAGE = Buffer.alloc(8 * 1024, 'x')
/** More than all buffers on the way. */
const LARGE = Buffer.alloc(64 * 1024 * 1024)

type Phase = Told & { name: string; requests: number; failed: number; p50Ms: number; p99Ms: number }

const origin = http.createServer((req, res) => {
  if (req.url === '/large') res.end(LARGE)
  else res.end(PAGE)
})
const hung = http.createServer(() => {})
const [originPort, hungPort] = [await listening(origin), await listening(hung)]
const edge = fork(path.join(import.meta.dirname, 'stress-edge.ts'), [`${originPort}`, `${hungPort}`])
const [{ port, tlsPort }] = (await once(edge, 'message')) as [{ port: number; tlsPort: number }]
const open: (() => void)[] = []
const phases: Phase[] = []

console.log(machineLine())
console.log(`${connections} connections, ${PEOPLE} people for ${seconds} s in each phase\n`)
console.log('phase | open at the edge | RSS MiB | requests | failed | p50 ms | p99 ms')
try {
  await measure('people alone')
  await idleConnections(connections)
  await measure(`+ ${connections} idle keep-alive connections`)
  const tenth = Math.ceil(connections / 10)
  await idleSessions(tenth)
  await measure(`+ ${tenth} idle HTTP/2 sessions`)
  slowHeads(tenth)
  await measure(`+ ${tenth} heads at a byte a second`)
  requests(tenth, 'hung.example', '/hangs', 'a person')
  await measure(`+ ${tenth} requests to an origin that hangs`)
  slowReaders(Math.ceil(tenth / 20))
  await measure(`+ ${Math.ceil(tenth / 20)} clients that read nothing of 64 MiB`)
  requests(tenth, 'shop.example', '/miss', 'Googlebot')
  await measure(`+ ${tenth} misses of crawlers at once`)
} finally {
  for (const end of open) end()
  edge.disconnect()
  origin.closeAllConnections()
  origin.close()
  hung.closeAllConnections()
  hung.close()
}
console.log(JSON.stringify(phases))
if (phases.some(({ failed }) => failed > 0)) process.exitCode = 1

async function measure(name: string): Promise<void> {
  const times: number[] = []
  let failed = 0
  const end = performance.now() + seconds * 1_000
  const agent = new http.Agent({ keepAlive: true, maxSockets: PEOPLE })
  const person = async () => {
    while (performance.now() < end) {
      const begun = performance.now()
      if ((await ask(agent)) === PAGE.length) times.push(performance.now() - begun)
      else failed += 1
    }
  }
  await Promise.all(Array.from({ length: PEOPLE }, person))
  agent.destroy()
  const told = await tell(edge)
  const phase = {
    name,
    ...told,
    requests: times.length,
    failed,
    ...{ p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) },
  }
  phases.push(phase)
  const figures = [
    told.connections,
    mib(told.rssBytes),
    times.length,
    failed,
    phase.p50Ms.toFixed(2),
    phase.p99Ms.toFixed(2),
  ]
  console.log([name, ...figures].join(' | '))
}

function ask(agent: http.Agent): Promise<number> {
  return new Promise((resolve) => {
    const headers = { host: 'shop.example', 'user-agent': 'a person' }
    http
      .get({ host: '127.0.0.1', port, agent, headers }, (res) => {
        let bytes = 0
        res.on('data', (part: Buffer) => {
          bytes += part.length
        })
        res.on('end', () => resolve(res.statusCode === 200 ? bytes : -1))
      })
      .on('error', () => resolve(-1))
  })
}

/** Each has sent one request, as browsers do. */
async function idleConnections(count: number): Promise<void> {
  await each(count, async () => {
    const socket = connect()
    socket.write('GET / HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: a person\r\n\r\n')
    await once(socket, 'data')
    socket.resume()
  })
}

async function idleSessions(count: number): Promise<void> {
  await each(count, async () => {
    const session = http2.connect(`https://127.0.0.1:${tlsPort}`, {
      ...{ servername: 'shop.example', rejectUnauthorized: false },
    })
    session.on('error', () => {})
    open.push(() => session.destroy())
    const stream = session.request({ ':path': '/', ':authority': 'shop.example' })
    stream.resume()
    await once(stream, 'end')
  })
}

function slowHeads(count: number): void {
  const sockets = Array.from({ length: count }, () => {
    const socket = connect()
    socket.write('GET / HTTP/1.1\r\nHost: shop.example\r\nX-A: ')
    return socket
  })
  const drip = setInterval(() => {
    for (const socket of sockets) socket.write('x')
  }, 1_000)
  open.push(() => clearInterval(drip))
}

function requests(count: number, host: string, url: string, agent: string): void {
  for (let n = 0; n < count; n++) {
    connect().write(`GET ${url}${n} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${agent}\r\n\r\n`)
  }
}

function slowReaders(count: number): void {
  for (let n = 0; n < count; n++) {
    const socket = connect()
    socket.pause()
    socket.write('GET /large HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: a person\r\n\r\n')
  }
}

function connect(): net.Socket {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  open.push(() => socket.destroy())
  return socket
}

async function each(count: number, one: () => Promise<void>): Promise<void> {
  for (let done = 0; done < count; done += 100) {
    await Promise.all(Array.from({ length: Math.min(100, count - done) }, one))
  }
}

async function tell(process: ChildProcess): Promise<Told> {
  process.send('tell')
  const [told] = (await once(process, 'message')) as [Told]
  return told
}

async function listening(server: http.Server): Promise<number> {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0)
}
