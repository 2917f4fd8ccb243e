import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** Origins of sites that get into trouble: they serve the shop until `fail()`. */
export type BadOrigins = {
  blocked: string
  unreachable: string
  ports: number[]
  /** From then on, one answers everything as a bot guard does, and at the other address nobody listens. */
  fail(): Promise<void>
  close(): Promise<void>
}

export async function startBadOrigins(shopUrl: string): Promise<BadOrigins> {
  let isGuarded = false
  const guard = http.createServer((request, response) => {
    if (isGuarded) answerChallenge(response)
    else passToShop(shopUrl, request, response)
  })
  const leaving = http.createServer((request, response) => passToShop(shopUrl, request, response))
  const blockedPort = await listen(guard)
  const unreachablePort = await listen(leaving)
  return {
    blocked: `http://127.0.0.1:${blockedPort}`,
    unreachable: `http://127.0.0.1:${unreachablePort}`,
    ports: [blockedPort, unreachablePort],
    async fail() {
      isGuarded = true
      await end(leaving)
    },
    async close() {
      await end(guard)
      await end(leaving)
    },
  }
}

function answerChallenge(response: http.ServerResponse): void {
  response.writeHead(403, { 'content-type': 'text/html', 'cf-mitigated': 'challenge' })
  response.end('<!doctype html><title>Just a moment...</title><p>Checking that you are human.')
}

function passToShop(shopUrl: string, request: http.IncomingMessage, response: http.ServerResponse): void {
  const { method, url, headers } = request
  const passed = http.request(new URL(url ?? '/', shopUrl), { method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  passed.on('error', () => response.destroy())
  response.on('close', () => passed.destroy())
  request.pipe(passed)
}

async function listen(server: http.Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

/** Also of a server that has ended. */
function end(server: http.Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
