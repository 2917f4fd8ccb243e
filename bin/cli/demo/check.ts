import http from 'node:http'
import { buffer } from 'node:stream/consumers'

import { systemClock } from '../../../src/clock.ts'
import { table } from '../../command-line/output.ts'
import { type Addresses, purgeBody, STEPS, type Step } from './steps.ts'
import { DEMO_DOMAIN } from './tenant.ts'

const STEP_WITHIN_MS = 30_000

/** What one step really came to. */
export type Seen = {
  who: string
  status: number
  verdict: string | null
  ms: number
  bytes: number
  text: string
  textFound: boolean
  ok: boolean
}

/** Does every step of the demo, one after the other. */
export async function runSteps(addresses: Addresses): Promise<Seen[]> {
  const seen: Seen[] = []
  for (const step of STEPS) seen.push(await runStep(step, addresses))
  return seen
}

/** A table of what was seen, and a sentence that says how it went. */
export function summary(seen: readonly Seen[]): string {
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
      ? 'All as it should be: crawlers get finished HTML, people get the shop.'
      : `${wrong} of ${seen.length} steps did not come out as they should.`
  return `${table(columns, rows, '')}\n\n${words}`
}

async function runStep({ who, request, expected }: Step, { edge, api, key }: Addresses): Promise<Seen> {
  const begunMs = systemClock.nowMs()
  const answer =
    request.kind === 'page'
      ? await ask(edge + request.path, {
          headers: { host: DEMO_DOMAIN, 'user-agent': request.userAgent },
        })
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

/** node:http, because fetch does not let a program set `Host`. */
function ask(
  url: string,
  options: http.RequestOptions,
  body?: string,
): Promise<{ status: number; verdict: string | null; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(STEP_WITHIN_MS)
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
