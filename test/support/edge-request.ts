import { once } from 'node:events'
import http from 'node:http'
import { buffer } from 'node:stream/consumers'

export const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
export const PERSON =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36'

/** One GET with its own `Host`, which `fetch` cannot send. Rejects after `timeoutMs` without a whole response. */
export async function edgeRequest(
  edge: string,
  request: { host: string; path: string; userAgent: string; timeoutMs?: number; agent?: http.Agent },
) {
  const { host, path, userAgent, timeoutMs = 30_000, agent } = request
  const headers = { host, 'user-agent': userAgent, 'accept-encoding': 'identity' }
  const sent = http.get(`${edge}${path}`, { headers, ...(agent && { agent }) })
  const { promise: late, reject } = Promise.withResolvers<never>()
  // Not that of the request: it begins with a socket, for which the request may wait.
  const timer = setTimeout(() => {
    const error = new Error(`${host}${path}: no answer in ${timeoutMs} ms`)
    reject(error)
    sent.destroy(error)
  }, timeoutMs)
  return Promise.race([answerOf(sent), late]).finally(() => clearTimeout(timer))
}

async function answerOf(sent: http.ClientRequest) {
  const [answer] = (await once(sent, 'response')) as [http.IncomingMessage]
  sent.on('error', () => {})
  const verdict = String(answer.headers['x-prepaint'] ?? '')
  return { status: answer.statusCode ?? 0, headers: answer.headers, verdict, body: await buffer(answer) }
}
