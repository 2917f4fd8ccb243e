import http from 'node:http'
import https from 'node:https'

import type { OriginAgents } from './client/request.ts'

/** The text at an address, when it is a 200 of at most `limitBytes`; rejects otherwise. */
export type FetchText = (url: string, limitBytes: number) => Promise<string>

/** For all of it. */
const TOTAL_MS = 30_000

/** Through guarded agents; redirects are not followed. */
export function createFetchText(agents: OriginAgents): FetchText {
  return async (url, limitBytes) => {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const signal = AbortSignal.timeout(TOTAL_MS)
    const headers = { 'User-Agent': 'Prepaint', Accept: 'application/json, text/plain' }
    const asked = url.startsWith('https:')
      ? https.get(url, { agent: agents.https, signal, headers })
      : http.get(url, { agent: agents.http, signal, headers })
    asked.on('response', resolve).on('error', reject)
    const answer = await promise
    try {
      if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
      const parts: Buffer[] = []
      let bytes = 0
      for await (const part of answer as AsyncIterable<Buffer>) {
        bytes += part.length
        if (bytes > limitBytes) throw new Error(`longer than ${limitBytes} bytes`)
        parts.push(part)
      }
      return Buffer.concat(parts).toString('utf8')
    } finally {
      answer.destroy()
    }
  }
}
