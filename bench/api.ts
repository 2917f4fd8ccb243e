/** Measures the API over a private PostgreSQL: `node bench/api.ts`. Last figures: docs/decisions/0007-api.md. */
import { fork } from 'node:child_process'
import http from 'node:http'
import path from 'node:path'

import type { Memory, Order, Ready } from './api-server.ts'
import { machineLine, median, percentile } from './figures.ts'

const server = fork(path.join(import.meta.dirname, 'api-server.ts'), { execArgv: ['--expose-gc'] })
const heard = () => new Promise<unknown>((resolve) => server.once('message', resolve))
async function ask<T>(order: Order): Promise<T> {
  const answer = heard()
  server.send(order)
  return (await answer) as T
}

const { url, key, postgres } = (await heard()) as Ready
const agent = new http.Agent({ keepAlive: true, maxSockets: 20 })
console.log(`${machineLine()}, PostgreSQL ${postgres}`)

try {
  await keyChecks()
  await refreshes()
  await lists()
} finally {
  agent.destroy()
  const ended = new Promise((resolve) => server.once('exit', resolve))
  server.send({ order: 'end' } satisfies Order)
  await ended
}

async function keyChecks(): Promise<void> {
  await ask<number[]>({ order: 'key-checks', count: 2_000 })
  const checks = await ask<number[]>({ order: 'key-checks', count: 10_000 })
  console.log(`\nkey check (hash and prepared query), one at a time: ${spread(checks)}`)

  const unknown = '/api/jobs/none' // Needs the key and nothing else of the database.
  for (const each of ['/healthz', unknown]) await times(500, () => call('GET', each))
  console.log(
    `request without a key (/healthz), one at a time:    ${spread(await times(3_000, () => call('GET', '/healthz')))}`,
  )
  console.log(
    `request that only checks its key, one at a time:    ${spread(await times(3_000, () => call('GET', unknown)))}`,
  )
  for (const each of ['/healthz', unknown]) {
    const started = performance.now()
    await Promise.all(Array.from({ length: 16 }, () => times(500, () => call('GET', each))))
    console.log(
      `${each}, 16 at once: ${Math.round(8_000 / ((performance.now() - started) / 1_000))} requests/s`,
    )
  }
}

async function refreshes(): Promise<void> {
  const paths = (run: number) => Array.from({ length: 1_000 }, (_, n) => `/run-${run}/page-${n}`)
  const refresh = (body: object) => call('POST', '/api/cache/refresh', body)
  const fresh: number[] = []
  const joined: number[] = []
  for (let run = 0; run < 20; run++) {
    const body = { domain: `d${run + 1}.example.com`, paths: paths(run) }
    fresh.push(...(await times(1, () => refresh(body))))
    joined.push(...(await times(1, () => refresh(body))))
  }
  console.log(`\nrefresh of 1,000 paths, new:                 ${spread(fresh)}`)
  console.log(`refresh of 1,000 paths, all have open jobs:  ${spread(joined)}`)
  const all = await times(5, () => call('POST', '/api/cache/refresh-all'))
  console.log(`refresh-all, / of 1,000 domains:             ${spread(all)}`)
}

async function lists(): Promise<void> {
  console.log('\nlist, a quick reader          time       answer     server memory, with garbage    left')
  for (const size of [1_000, 10_000, 50_000, 200_000]) {
    await call('GET', `/api/cache/list/list-${size}.example.com`)
    await ask({ order: 'watch-memory' })
    const started = performance.now()
    const bytes = await call('GET', `/api/cache/list/list-${size}.example.com`)
    const ms = performance.now() - started
    const { peak, left } = await ask<Memory>({ order: 'memory' })
    console.log(
      `${String(size).padStart(7)} pages ${`${ms.toFixed(0)} ms`.padStart(19)} ${mib(bytes)} ${mib(peak).padStart(20)} ${mib(left)}`,
    )
  }
  await ask({ order: 'watch-memory' })
  const waiting = Promise.all(
    Array.from({ length: 20 }, () =>
      call('GET', '/api/cache/list/list-200000.example.com', undefined, 5_000),
    ),
  )
  await new Promise((resolve) => setTimeout(resolve, 4_500))
  const { left } = await ask<Memory>({ order: 'memory' })
  console.log(`20 readers of 200,000 pages who read nothing yet: server memory ${mib(left)}`)
  await waiting
}

/** Discards the response and returns its length. `waitMs`: reads nothing before. */
function call(method: string, target: string, body?: object, waitMs = 0): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const text = body === undefined ? '' : JSON.stringify(body)
  const headers = {
    'x-api-key': key,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  }
  const request = http.request(url + target, { method, agent, headers }, (response) => {
    if (response.statusCode !== 200 && response.statusCode !== 404) {
      reject(new Error(`${method} ${target} answered ${response.statusCode}`))
    }
    let bytes = 0
    const read = () => {
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      response.on('end', () => resolve(bytes))
    }
    if (waitMs === 0) read()
    else setTimeout(read, waitMs)
  })
  request.on('error', reject)
  request.end(text)
  return promise
}

async function times(count: number, run: () => Promise<unknown>): Promise<number[]> {
  const found: number[] = []
  for (let n = 0; n < count; n++) {
    const started = performance.now()
    await run()
    found.push(performance.now() - started)
  }
  return found
}

function spread(values: readonly number[]): string {
  return `p50 ${median(values).toFixed(2)} ms, p95 ${percentile(values, 0.95).toFixed(2)} ms`
}

function mib(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`.padStart(11)
}
