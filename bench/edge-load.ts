import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { percentile } from './figures.ts'
import { treeCpuMs } from './tree-meter.ts'

const run = promisify(execFile)

const CRAWLER = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const PERSON =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

export type Load = {
  /** `h2`: over TLS, 16 connections of four streams. `spread`: small pages of random domains and paths. */
  kind: 'http1' | 'h2' | 'spread'
  port: number
  path: string
  who: 'crawler' | 'person'
  seconds: number
  cores: string
  /** What the client accepts, by default `identity`. */
  encoding?: 'identity' | 'gzip' | 'br'
  domains?: number
  pages?: number
  /** Their processor time counts, with all that they started. */
  pids: readonly number[]
}

export type Burst = { perSecond: number; p99Ms: number; microsARequest: number }

export async function burst(load: Load): Promise<Burst> {
  const beforeMs = load.pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0)
  const out = load.kind === 'h2' ? await h2load(load) : await wrk(load)
  const usedMs = load.pids.reduce((sum, pid) => sum + treeCpuMs(pid), 0) - beforeMs
  return { perSecond: out.perSecond, p99Ms: out.p99Ms, microsARequest: (usedMs / out.requests) * 1e3 }
}

type Said = { requests: number; perSecond: number; p99Ms: number }

async function wrk({
  kind,
  port,
  path: url,
  who,
  seconds,
  cores,
  domains = 1,
  pages = 1,
  encoding = 'identity',
}: Load): Promise<Said> {
  const threads = `${cores.split(',').length}`
  const headers = ['Host: shop.example', `User-Agent: ${who === 'crawler' ? CRAWLER : PERSON}`]
  headers.push(`Accept-Encoding: ${encoding}`)
  const script = path.join(import.meta.dirname, 'edge-spread.lua')
  const { stdout } = await run('taskset', [
    ...['-c', cores, 'wrk', '-t', threads, '-c', '32', `-d${seconds}s`, '--latency'],
    ...headers.flatMap((header) => ['-H', header]),
    ...(kind === 'spread' ? ['-s', script] : []),
    `http://127.0.0.1:${port}${url}`,
    ...(kind === 'spread' ? ['--', `${domains}`, `${pages}`] : []),
  ])
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout)
  return {
    requests: numberIn(stdout, /(\d+) requests in/),
    perSecond: numberIn(stdout, /Requests\/sec:\s+([\d.]+)/),
    p99Ms: milliseconds(/99%\s+(\S+)/.exec(stdout)?.[1] ?? ''),
  }
}

async function h2load({ port, path: url, who, seconds, cores, encoding = 'identity' }: Load): Promise<Said> {
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bench-'))
  const log = path.join(dir, 'log')
  try {
    const { stdout } = await run('taskset', [
      ...['-c', cores, 'h2load', '-t1', '-c16', '-m4', '-D', `${seconds}`, '--log-file', log],
      ...[
        '--header',
        `accept-encoding: ${encoding}`,
        '--header',
        `user-agent: ${who === 'crawler' ? CRAWLER : PERSON}`,
      ],
      ...['--connect-to', `127.0.0.1:${port}`, `https://shop.example:${port}${url}`],
    ])
    if (/[1-9]\d* (?:failed|errored|timeout)|[1-9]\d* [345]xx| 0 succeeded/.test(stdout))
      throw new Error(stdout)
    // Each line: start, status and microseconds of a request.
    const micros = readFileSync(log, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => Number(line.split('\t')[2]))
    return {
      requests: numberIn(stdout, /(\d+) succeeded/),
      perSecond: numberIn(stdout, /finished in \S+, ([\d.]+) req\/s/),
      p99Ms: percentile(micros, 0.99) / 1_000,
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Requests each page once, so that what fits is in memory. */
export async function askForAll({
  port,
  domains = 1,
  pages = 1,
}: Pick<Load, 'port' | 'domains' | 'pages'>): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 32 })
  const left = Array.from({ length: domains * pages }, (_, at) => at)
  const ask = async () => {
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      const host = `d${1 + (at % domains)}.example`
      const headers = { host, 'user-agent': CRAWLER, 'accept-encoding': 'br' }
      const request = http.get({
        host: '127.0.0.1',
        port,
        path: `/p${1 + Math.floor(at / domains)}`,
        agent,
        headers,
      })
      const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
      await once(answer.resume(), 'end')
    }
  }
  await Promise.all(Array.from({ length: 32 }, ask))
  agent.destroy()
}

function numberIn(text: string, pattern: RegExp): number {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`${pattern} is not in:\n${text}`)
  return Number(found)
}

function milliseconds(text: string): number {
  const unit = text.endsWith('us') ? 0.001 : text.endsWith('ms') ? 1 : 1_000
  return Number.parseFloat(text) * unit
}

/** User and system time of these processes (proc(5), fields 14 and 15, in hundredths of a second). */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return sum + (Number(fields[11]) + Number(fields[12])) / 100
  }, 0)
}
