import type { Readable } from 'node:stream'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import type { OriginPool } from './client/pool.ts'
import { type OriginResponse, sendRequest } from './client/request.ts'
import { ownRequestHeaders, type ProxiedSite } from './headers.ts'
import { readOrigin } from './origin.ts'

export type GetOptions = {
  origins: OriginPool
  /** The full User-Agent header. Our robots.txt token is its first word. */
  userAgent: string
  silenceMs?: number
  encoding?: 'gzip' | 'identity'
}

/** Redirects within the site that are followed. Any further redirect is returned as the response. */
const REDIRECTS_LIMIT = 5
const SILENCE_MS = 15_000

/** Sends a GET to a site's origin and follows redirects within the site. Aborting `signal` fails the body too. */
export async function getFromSite(
  { origins, userAgent, silenceMs = SILENCE_MS, encoding = 'gzip' }: GetOptions,
  site: ProxiedSite,
  path: string,
  signal: AbortSignal,
): Promise<OriginResponse> {
  const headers = [...ownRequestHeaders(site), 'User-Agent', userAgent]
  headers.push('Accept', '*/*', 'Accept-Encoding', encoding, 'Connection', 'keep-alive')
  for (let target = path, hops = 0; ; hops++) {
    const request = { method: 'GET', path: target, headers, silenceMs, signal }
    const response = await sendRequest(origins, site.origin, request).response
    const { statusCode } = response
    const next = statusCode >= 300 && statusCode < 400 ? ownTarget(response, target, site) : null
    if (next === null || hops === REDIRECTS_LIMIT) return response
    response.body.destroy()
    target = next
  }
}

function ownTarget({ headers }: OriginResponse, from: string, { name, origin }: ProxiedSite): string | null {
  const { location } = headers
  const url = URL.parse(location ?? '', `https://${name}${from}`)
  const isOwn = url !== null && [name, origin.authority, origin.hostname].includes(url.host)
  return isOwn && location !== undefined ? `${url.pathname}${url.search}` : null
}

/** Text of a 200 response of at most `limitBytes`; rejects otherwise. */
export type FetchText = (url: string, limitBytes: number) => Promise<string>

const TEXT_WITHIN_MS = 30_000

/** Does not follow redirects. */
export function createFetchText(origins: OriginPool): FetchText {
  return async (url, limitBytes) => {
    const { origin: base, pathname, search } = new URL(url)
    const origin: Origin = readOrigin(base, 'own')
    const headers = ['Host', origin.authority, 'User-Agent', 'Prepaint']
    headers.push('Accept', 'application/json, text/plain', 'Connection', 'keep-alive')
    const { statusCode, body } = await sendRequest(origins, origin, {
      method: 'GET',
      path: `${pathname}${search}`,
      headers,
      silenceMs: TEXT_WITHIN_MS,
      signal: AbortSignal.timeout(TEXT_WITHIN_MS),
    }).response
    try {
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`)
      const { text, isWhole } = await readText(body, limitBytes)
      if (!isWhole) throw new Error(`longer than ${limitBytes} bytes`)
      return text
    } finally {
      body.destroy()
    }
  }
}

export async function readText(
  body: Readable,
  limitBytes: number,
): Promise<{ text: string; isWhole: boolean }> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    parts.push(part)
    bytes += part.length
    if (bytes > limitBytes) break
  }
  const text = Buffer.concat(parts).subarray(0, limitBytes).toString('utf8')
  return { text, isWhole: bytes <= limitBytes }
}
