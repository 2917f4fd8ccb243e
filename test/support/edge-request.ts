import http from 'node:http'

export const GOOGLEBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
export const PERSON =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36'

export type EdgeAnswer = {
  status: number
  headers: http.IncomingHttpHeaders
  verdict: string
  body: Buffer
}

/** One GET with its own `Host`, which `fetch` cannot send. Rejects after `timeoutMs` without a response. */
export function edgeRequest(
  edge: string,
  request: { host: string; path: string; userAgent: string; timeoutMs?: number; agent?: http.Agent },
): Promise<EdgeAnswer> {
  const { host, path, userAgent, timeoutMs = 30_000, agent } = request
  return new Promise((resolve, reject) => {
    const sent = http.get(
      `${edge}${path}`,
      { headers: { host, 'user-agent': userAgent, 'accept-encoding': 'identity' }, ...(agent && { agent }) },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.once('error', reject)
        answer.once('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            verdict: String(answer.headers['x-prepaint'] ?? ''),
            body: Buffer.concat(chunks),
          }),
        )
      },
    )
    sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`${host}${path}: no answer in ${timeoutMs} ms`)))
    sent.once('error', reject)
  })
}
