import http from 'node:http'
import https from 'node:https'

import type { Site } from '../sitemaps/site.ts'

/** Connections to origins; guarded ones, see `src/outbound/guarded-agents.ts`. */
type Agents = { http: http.Agent; https: https.Agent }

export type GetOptions = {
  agents: Agents
  /** The whole user agent; our token in robots.txt is its first word. */
  userAgent: string
  /** So long the origin may be silent. */
  silenceMs?: number
  encoding?: 'gzip' | 'identity'
}

/** Of a site's own addresses; a site that leads further, or elsewhere, is left at the redirect. */
const REDIRECTS_LIMIT = 5
const SILENCE_MS = 15_000

/**
 * A GET of our own from a site's origin, redirects inside the site followed.
 * Resolves with the answer's head; its body fails when `signal` ends. A
 * redirect that leads elsewhere is the answer.
 */
export async function getFromSite(
  { agents, userAgent, silenceMs = SILENCE_MS, encoding = 'gzip' }: GetOptions,
  site: Site,
  path: string,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  const origin = new URL(site.originUrl)
  const headers = {
    Host: origin.host,
    'User-Agent': userAgent,
    Accept: '*/*',
    'Accept-Encoding': encoding,
    // As the renderer's requests: an origin that is behind us must not take us for a crawler.
    Via: '1.1 prepaint',
    'X-Forwarded-Host': site.name,
    'X-Forwarded-Proto': 'https',
  }
  for (let target = path, hops = 0; ; hops++) {
    const answer = await once(target)
    const status = answer.statusCode ?? 0
    const next = status >= 300 && status < 400 ? ownTarget(answer.headers.location, target) : null
    if (next === null || hops === REDIRECTS_LIMIT) return answer
    answer.destroy()
    target = next
  }

  function once(target: string): Promise<http.IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const to = { host: origin.hostname, path: target, headers, signal, timeout: silenceMs }
    const asked =
      origin.protocol === 'https:'
        ? https.get({ ...to, port: origin.port || 443, agent: agents.https })
        : http.get({ ...to, port: origin.port || 80, agent: agents.http })
    asked.on('timeout', () => asked.destroy(new Error(`the origin was silent for ${silenceMs / 1_000} s`)))
    asked.on('response', resolve).on('error', reject)
    return promise
  }

  function ownTarget(location: string | undefined, from: string): string | null {
    const url = URL.parse(location ?? '', `https://${site.name}${from}`)
    const isOwn = url !== null && [site.name, origin.host, origin.hostname].includes(url.host)
    return isOwn && location !== undefined ? `${url.pathname}${url.search}` : null
  }
}
