import http from 'node:http'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { table } from '../../command-line/output.ts'

/** Browsers and curl resolve this name to loopback. */
export const DEMO_DOMAIN = 'shop.localhost'

const PAGE = '/product/morning-mug'
/** A text of the rendered page that the shop's HTML does not have. */
const TEXT = 'A heavy stoneware mug'

const CRAWLER = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
const PERSON = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150.0.0.0 Safari/537.36'

type Step = {
  who: string
  shows: string
  request:
    | { kind: 'page'; path: string; userAgent: string; shortUserAgent: string }
    | { kind: 'purge'; path: string }
  expected: { status: number; verdict: RegExp | null; text: string; textIsThere: boolean }
}

export const DEMO_STEPS: readonly Step[] = [
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

export function asCurl({ request }: Step, { edge, api, key }: Addresses): string {
  switch (request.kind) {
    case 'page':
      return `curl -si -H 'Host: ${DEMO_DOMAIN}' -A '${request.shortUserAgent}' ${edge}${request.path} | grep -aoiE '^HTTP.*|^x-prepaint.*|<h1>[^<]*|<div id="root"></div>'`
    case 'purge':
      return `curl -s -X POST ${api}/api/cache/purge -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json' -d '${purgeBody(request.path)}'`
  }
}

function purgeBody(path: string): string {
  return JSON.stringify({ domain: DEMO_DOMAIN, path })
}

const STEP_TIMEOUT_MS = 30_000

export type StepResult = {
  who: string
  status: number
  verdict: string | null
  ms: number
  bytes: number
  text: string
  textFound: boolean
  ok: boolean
}

export async function runSteps(addresses: Addresses): Promise<StepResult[]> {
  const seen: StepResult[] = []
  for (const step of DEMO_STEPS) seen.push(await runStep(step, addresses))
  return seen
}

export function summary(seen: readonly StepResult[]): string {
  const rows = seen.map((one) => [
    one.ok ? 'ok' : 'WRONG',
    one.who,
    String(one.status),
    one.verdict ?? '',
    String(one.ms),
    String(one.bytes),
    `"${one.text}" ${one.textFound ? 'found' : 'absent'}`,
  ])
  const right = (heading: string) => ({ heading, right: true }) as const
  const columns = ['', 'who', 'status', 'X-Prepaint', right('ms'), right('bytes'), 'text']
  const wrong = seen.filter(({ ok }) => !ok).length
  const words =
    wrong === 0
      ? 'All as expected: crawlers get finished HTML, visitors get the shop.'
      : `${wrong} of ${seen.length} steps had an unexpected result.`
  return `${table(columns, rows, '')}\n\n${words}`
}

async function runStep({ who, request, expected }: Step, { edge, api, key }: Addresses): Promise<StepResult> {
  const begunMs = systemClock.nowMs()
  const answer =
    request.kind === 'page'
      ? await askPage(edge + request.path, { host: DEMO_DOMAIN, userAgent: request.userAgent })
      : await ask(
          `${api}/api/cache/purge`,
          { method: 'POST', headers: { 'x-api-key': key, 'content-type': 'application/json' } },
          purgeBody(request.path),
        )
  const { status, verdict, body } = answer
  const textFound = body.includes(expected.text)
  return {
    who,
    status,
    verdict,
    ms: systemClock.nowMs() - begunMs,
    bytes: body.length,
    text: expected.text,
    textFound,
    ok:
      status === expected.status &&
      textFound === expected.textIsThere &&
      (expected.verdict === null || expected.verdict.test(verdict ?? '')),
  }
}

/** Asks as a crawler or a person would. */
export function askPage(url: string, as: { host: string; userAgent: string }): Promise<Answer> {
  return ask(url, { headers: { host: as.host, 'user-agent': as.userAgent } })
}

type Answer = { status: number; verdict: string | null; body: Buffer }

/** node:http, because fetch cannot set `Host`. */
function ask(url: string, options: http.RequestOptions, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(STEP_TIMEOUT_MS)
    const request = http.request(url, { ...options, agent: false, signal }, (answer) => {
      const verdict = answer.headers['x-prepaint']
      buffer(answer).then(
        (body) =>
          resolve({
            status: answer.statusCode ?? 0,
            verdict: typeof verdict === 'string' ? verdict : null,
            body,
          }),
        reject,
      )
    })
    request.on('error', reject)
    request.end(body)
  })
}
