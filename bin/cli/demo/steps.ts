import type { Config } from '../../../src/config.ts'
import { DEMO_DOMAIN } from './tenant.ts'

const PAGE = '/product/morning-mug'
/** Stands on the finished page, and nowhere in the HTML file that the shop answers. */
const TEXT = 'A heavy stoneware mug'

const CRAWLER = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const PERSON = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36'

/** One request of the demo, what it shows, and what must come of it. */
export type Step = {
  who: string
  shows: string
  request:
    | { kind: 'page'; path: string; userAgent: string; shortUserAgent: string }
    | { kind: 'purge'; path: string }
  expected: { status: number; verdict: RegExp | null; text: string; textIsThere: boolean }
}

export const STEPS: readonly Step[] = [
  crawler('crawler, first time', 'nothing is stored yet: it waits for the render', PAGE, /^rendered$/),
  crawler('crawler, again', 'the stored page, without Chromium', PAGE, /^hit$/),
  {
    who: 'person',
    shows: 'passed to the shop: its HTML file with an empty root, and the scripts do the rest',
    request: { kind: 'page', path: PAGE, userAgent: PERSON, shortUserAgent: 'Mozilla/5.0' },
    expected: { status: 200, verdict: /^pass; /, text: TEXT, textIsThere: false },
  },
  {
    who: 'owner, purge',
    shows: 'the shop has changed: the stored page is deleted, with the API key',
    request: { kind: 'purge', path: PAGE },
    expected: { status: 200, verdict: null, text: '"keysDeleted":1', textIsThere: true },
  },
  crawler('crawler, after it', 'rendered anew', PAGE, /^rendered$/),
  {
    ...crawler(
      'crawler, bad link',
      "the shop's server says 200 to everything; its script says 404",
      '/nothing',
      /^rendered$/,
    ),
    expected: { status: 404, verdict: /^rendered$/, text: 'This shelf is empty', textIsThere: true },
  },
]

function crawler(who: string, shows: string, path: string, verdict: RegExp): Step {
  return {
    who,
    shows,
    request: { kind: 'page', path, userAgent: CRAWLER, shortUserAgent: 'Googlebot' },
    expected: { status: 200, verdict, text: TEXT, textIsThere: true },
  }
}

export type Addresses = { edge: string; api: string; key: string }

/** The step as a command to paste. */
export function asCurl({ request }: Step, { edge, api, key }: Addresses): string {
  switch (request.kind) {
    case 'page':
      return `curl -si -H 'Host: ${DEMO_DOMAIN}' -A '${request.shortUserAgent}' ${edge}${request.path} | grep -aoiE '^HTTP.*|^x-prepaint.*|<h1>[^<]*|<div id="root"></div>'`
    case 'purge':
      return `curl -s -X POST ${api}/api/cache/purge -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '${purgeBody(request.path)}'`
  }
}

export function purgeBody(path: string): string {
  return JSON.stringify({ domain: DEMO_DOMAIN, path })
}

/** The address of the dashboard, for links that a person opens. */
export function apiUrl({ publicUrl, api }: Pick<Config, 'publicUrl' | 'api'>): string {
  const host = api.host.includes(':') ? `[${api.host}]` : api.host
  return publicUrl ?? `http://${host}:${api.port}`
}
