import http from 'node:http'

import { ORIGIN_CACHE_CONTROL } from '../../src/outbound/headers.ts'
import type { RenderOutcome } from '../../src/render/outcome.ts'
import { judgeMainResponse, keptHeaders, type ResponseHeader } from '../../src/render/visit/main-document.ts'
import type { CacheTest, Fetch } from './http-cache-run.ts'

/** What the package's server says of itself to its client; they travel with the page, as its own headers would. */
const BOOKKEEPING = [
  'server-base-url',
  'server-request-count',
  'client-request-count',
  'server-now',
  'capability-seen',
  'request-numbers',
]

/** Headers of the origin that a page keeps: only of these can be expected that they are the same. */
const KEPT = ['content-language', 'link', 'x-robots-tag']

type Validators = { origin: { etag: string; modifiedMs: number }; ours: { etag: string; modifiedMs: number } }

/**
 * Lets the package ask for pages. Three things are not as it knows them, and
 * are translated so that its questions still mean what they mean:
 *
 * - A render is not the crawler's request: it carries none of its headers. The
 *   number of the request, by which the server keeps its books, is handed on.
 * - A page has validators of its own. Where a test sends back the origin's
 *   `ETag` or a date relative to its `Last-Modified`, those of the page are sent, and
 *   the page's `ETag` is shown to the test as the origin's.
 * - Only kept headers of the origin can be expected in the answer.
 */
export function createPagesOf(fetch: Fetch) {
  const numbers = new Map<string, string>()
  const validators = new Map<string, Validators>()

  return {
    adapt(test: CacheTest): CacheTest {
      for (const { response_headers: headers = [] } of test.requests) {
        // `false` as the third: sent, and not looked for afterwards.
        for (const header of headers) if (!KEPT.includes(String(header[0]).toLowerCase())) header[2] = false
      }
      return test
    },

    async fetch(url: string, init: { headers?: [string, string][] } = {}): ReturnType<Fetch> {
      const { pathname, search } = new URL(url)
      const path = `${pathname}${search}`
      const headers = init.headers ?? []
      numbers.set(path, headers.find(([name]) => name === 'Req-Num')?.[1] ?? '')
      const known = validators.get(path)
      const translated = headers.map(([name, value]): [string, string] =>
        known === undefined ? [name, value] : [name, translate(name, String(value), known)],
      )
      const answer = await fetch(url, { ...init, headers: translated })
      const page = validators.get(path)
      const etag = answer.headers.get('etag')
      if (page !== undefined && etag !== null) {
        page.ours = { etag, modifiedMs: Date.parse(answer.headers.get('last-modified') ?? '') }
        if (page.origin.etag !== '') answer.headers.set('etag', page.origin.etag)
      }
      return answer
    },

    /** In place of Chromium: what the origin answers is the page, whatever type it says it is. */
    async render(originUrl: string, path: string): Promise<RenderOutcome> {
      const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
      const headers = { Via: '1.1 prepaint', 'Req-Num': numbers.get(path) ?? '' }
      http.get(`${originUrl}${path}`, { headers, agent: false }, resolve).on('error', reject)
      let answer: http.IncomingMessage
      try {
        answer = await promise
      } catch (error) {
        return { kind: 'origin-unreachable', reason: (error as Error).message }
      }
      const parts: Buffer[] = []
      for await (const part of answer as AsyncIterable<Buffer>) parts.push(part)
      const status = answer.statusCode ?? 0
      const list = pairs(answer.rawHeaders)
        .filter(({ name }) => name.toLowerCase() !== 'content-type')
        // As the gateway hands it on.
        .map((header) =>
          header.name.toLowerCase() === 'cache-control' ? { ...header, name: ORIGIN_CACHE_CONTROL } : header,
        )
      const site = { customDomain: 'red.example', originUrl }
      const judged = judgeMainResponse(`https://red.example${path}`, status, list, site)
      if (judged !== null) return judged
      const { etag = '', 'last-modified': modified = '' } = answer.headers
      const nothing = { etag: '', modifiedMs: Number.NaN }
      validators.set(path, { origin: { etag, modifiedMs: Date.parse(modified) }, ours: nothing })
      const books = list.filter(({ name }) => BOOKKEEPING.includes(name.toLowerCase()))
      return {
        kind: 'rendered',
        status,
        headers: [...keptHeaders(list), ...books.map(({ name, value }): [string, string] => [name, value])],
        html: Buffer.concat(parts).toString(),
      }
    },
  }
}

function translate(name: string, value: string, { origin, ours }: Validators): string {
  const lower = name.toLowerCase()
  if (lower === 'if-none-match' && origin.etag !== '')
    return value.replaceAll(opaque(origin.etag), opaque(ours.etag))
  if (lower !== 'if-modified-since' || Number.isNaN(origin.modifiedMs)) return value
  const date = new Date(ours.modifiedMs + Date.parse(value) - origin.modifiedMs)
  return /^\w+day, /.test(value) ? rfc850(date) : date.toUTCString()
}

/** What stands in the quotes. */
function opaque(etag: string): string {
  return etag.replace(/^W\//, '').replace(/^"|"$/g, '')
}

/** RFC 9110, section 5.6.7. */
function rfc850(date: Date): string {
  const [, day = '', month = '', year = '', time = ''] =
    /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(date.toUTCString()) ?? []
  const weekday = date.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })
  return `${weekday}, ${day}-${month}-${year.slice(2)} ${time} GMT`
}

function pairs(raw: readonly string[]): ResponseHeader[] {
  return Array.from({ length: raw.length / 2 }, (_, at) => ({ name: raw[2 * at]!, value: raw[2 * at + 1]! }))
}
