/**
 * What a hit from memory costs: the same compressed page from our edge, from a
 * bare node:http server that does nothing else, and from nginx `proxy_cache`,
 * one core each, in turns. Beside the throughput stands the processor time of a
 * request, which other work on the machine disturbs less.
 *
 *   node bench/edge-hits.ts [kilobytes = 8] [seconds = 5] [rounds = 3]
 *
 * Needs wrk, taskset and nginx. Last, 8 KB, on two busy cores: 0.85 of the bare
 * server and 0.74 of nginx by processor time (22.5, 19.1 and 16.7 us a request).
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'

import { systemClock } from '../src/clock.ts'
import { createEdge } from '../src/edge/edge.ts'
import type { JobId } from '../src/ids.ts'
import { silentLog } from '../src/log.ts'

const [role = '8', size = '5', rest = '3'] = process.argv.slice(2)
const AGENT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'

if (role === 'edge' || role === 'bare') {
  const body = Buffer.alloc(Number(size) * 1024, 'x')
  const server = role === 'edge' ? edgeOn(body) : bareOn(body)
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
} else {
  await compare(Number(role), Number(size), Number(rest))
}

function bareOn(body: Buffer): http.Server {
  const headers = ['Content-Type', 'text/html', 'Content-Encoding', 'br', 'Content-Length', `${body.length}`]
  headers.push('Cache-Control', 'max-age=3600', 'ETag', '"x"')
  return http.createServer((_req, res) => {
    res.writeHead(200, headers)
    res.end(body)
  })
}

function edgeOn(body: Buffer): http.Server {
  const renderedAtMs = systemClock.nowMs()
  const page = { kind: 'page', status: 200, headers: [], bodyBr: body, htmlBytes: 0, etag: 'x' } as const
  const row = { id: 1, account_id: 1, custom_domain: 'shop.example', is_active: true, settings: {} }
  const { server } = createEdge(
    {
      clock: systemClock,
      log: silentLog(),
      agents: { http: http.globalAgent, https: http.globalAgent as never },
      connected: () => true,
      domainByHost: async () => ({ ...row, origin_url: 'http://origin.example' }),
      readUnstored: async () => null,
      readStored: async () => ({ ...page, renderedAtMs, staleSinceMs: null }),
      isOverQuota: async () => false,
      enqueueLive: async () => 'none' as JobId,
      enqueueRefresh: async () => {},
      waitForJob: async () => 'late',
      noteAsked: () => {},
      readSitemap: async () => null,
      storeSitemap: async () => {},
      namedInIndexes: async () => [],
      recordInSitemap: async () => {},
    },
    { memoryBytes: 64 * 1024 * 1024, liveWaitMs: 1_000 },
  )
  return server
}

async function compare(kilobytes: number, seconds: number, rounds: number): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bench-'))
  const open: ChildProcess[] = []
  try {
    const ports: Record<string, number> = {}
    const pids: Record<string, number> = {}
    for (const name of ['edge', 'bare']) {
      const child = onCore0([process.execPath, import.meta.filename, name, `${kilobytes}`])
      open.push(child)
      pids[name] = child.pid!
      for await (const line of createInterface({ input: child.stdout! })) {
        ports[name] = Number(line)
        break
      }
    }
    ports['nginx'] = await startNginx(dir, ports['bare']!, open)
    pids['nginx'] = childOf(open.at(-1)!.pid!)

    const best: Record<string, { perSecond: number; micros: number }> = {}
    for (let round = 0; round < rounds; round++) {
      for (const [name, port] of Object.entries(ports)) {
        const before = processorSeconds(pids[name]!)
        const { perSecond, p99, requests } = load(port, seconds)
        const micros = ((processorSeconds(pids[name]!) - before) / requests) * 1e6
        const last = best[name] ?? { perSecond: 0, micros: Number.POSITIVE_INFINITY }
        best[name] = { perSecond: Math.max(last.perSecond, perSecond), micros: Math.min(last.micros, micros) }
        const figures = [
          perSecond.toFixed(0).padStart(7),
          '/s  p99',
          p99.padStart(9),
          micros.toFixed(1).padStart(7),
        ]
        console.log(name.padEnd(6), ...figures, 'us of processor a request')
      }
    }
    for (const other of ['bare', 'nginx']) {
      const [ours, theirs] = [best['edge']!, best[other]!]
      const throughput = (ours.perSecond / theirs.perSecond).toFixed(2)
      console.log(
        `edge / ${other}: throughput ${throughput}, by processor time ${(theirs.micros / ours.micros).toFixed(2)}`,
      )
    }
  } finally {
    for (const child of open) child.kill('SIGTERM')
    await Promise.all(open.map(async (child) => child.exitCode === null && once(child, 'exit')))
    rmSync(dir, { recursive: true })
  }
}

async function startNginx(dir: string, originPort: number, open: ChildProcess[]): Promise<number> {
  const probe = http.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  mkdirSync(path.join(dir, 'cache'), { mode: 0o777 })
  const file = path.join(dir, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; user root; worker_processes 1; pid ${dir}/pid; error_log stderr crit;
     events { worker_connections 1024; }
     http {
       access_log off; keepalive_requests 100000000; sendfile on; tcp_nopush on;
       client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy;
       fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
       proxy_cache_path ${dir}/cache keys_zone=pages:10m;
       server {
         listen 127.0.0.1:${port};
         location / { proxy_pass http://127.0.0.1:${originPort}; proxy_cache pages; proxy_cache_valid 1h; }
       }
     }`,
  )
  open.push(onCore0(['nginx', '-p', dir, '-c', file]))
  for (;;) {
    const answered = await fetch(`http://127.0.0.1:${port}/`).then(
      (response) => response.ok,
      () => false,
    )
    if (answered) return port
  }
}

function onCore0(command: string[]): ChildProcess {
  return spawn('taskset', ['-c', '0', ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
}

/** User and system time so far (proc(5), fields 14 and 15, in hundredths). */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function load(port: number, seconds: number): { perSecond: number; p99: string; requests: number } {
  const headers = ['Host: shop.example', `User-Agent: ${AGENT}`, 'Accept-Encoding: gzip, deflate, br']
  const flags = ['-c', '1', 'wrk', '-t1', '-c32', `-d${seconds}s`, '--latency']
  const url = `http://127.0.0.1:${port}/product/42?colour=red`
  const out = execFileSync('taskset', [...flags, ...headers.flatMap((header) => ['-H', header]), url], {
    encoding: 'utf8',
  })
  if (/Non-2xx|Socket errors/.test(out)) throw new Error(out)
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(out)?.[1]),
    requests: Number(/(\d+) requests in/.exec(out)?.[1]),
    p99: /99%\s+(\S+)/.exec(out)?.[1] ?? '?',
  }
}
