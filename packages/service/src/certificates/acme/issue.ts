import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAIN_LIMIT_CHARS } from '@prepaint/contract/api/certificate.ts'
import { problemText } from '@prepaint/contract/problem.ts'
import { retryAfterMs } from '@prepaint/outbound'
import { z } from 'zod'
import { type Certificate, checkCertificate } from '../certificate.ts'
import type { ChallengeKind } from './challenge.ts'
import { AcmeProblem, problemFrom } from './problem.ts'
import { type AcmeSession, locationOf, parsed } from './session.ts'
import { signingRequest } from './signing-request.ts'
import type { AcmeAnswer } from './transport.ts'

const challengeSchema = z.object({
  type: z.string(),
  url: z.string(),
  token: z.string().optional(),
  error: z.unknown().optional(),
})
const authorizationSchema = z.object({ status: z.string(), challenges: z.array(challengeSchema) })
const orderSchema = z.object({
  status: z.string(),
  authorizations: z.array(z.string()).max(10),
  finalize: z.string(),
  certificate: z.string().optional(),
  error: z.unknown().optional(),
})
type Authorization = z.infer<typeof authorizationSchema>

type IssueRequest = {
  name: string
  kind: ChallengeKind
  /** The replaced certificate, for a CA with renewal information (RFC 9773, section 5). */
  replaces: string | null
  /** Resolves when all nodes serve the challenge. */
  publish(challenge: { kind: ChallengeKind; token: string; keyAuthorization: string }): Promise<void>
  signal: AbortSignal
}

export type IssueTimes = { pollMs: number; limitMs: number }

const TIMES: IssueTimes = { pollMs: 1_000, limitMs: 120_000 }
const MAX_POLL_MS = 10_000
/** RFC 9773, section 5, and other errors in use. `unauthorized`: another account ordered it. */
const REPLACEMENT_PROBLEMS = new Set(['alreadyReplaced', 'malformed', 'conflict', 'unauthorized'])
const CLOCKS_APART_MS = 300_000
/** Tokens are base64url with at least 128 bits (RFC 8555, section 8.1). */
const TOKEN = /^[\w-]{22,255}$/

/** New ECDSA P-256 key (RFC 8555, section 7.4). Rejects with AcmeProblem for the owner, or the signal's reason. */
export async function issueCertificate(
  session: AcmeSession,
  request: IssueRequest,
  clock: { nowMs(): number },
  times: IssueTimes = TIMES,
): Promise<Certificate> {
  const { name, signal, replaces } = request
  const untilMs = clock.nowMs() + times.limitMs
  const { newOrder, renewalInfo } = await session.directory(signal)
  const placed = await placeOrder(newOrder, renewalInfo === undefined ? null : replaces)
  const url = locationOf(placed, 'order')
  for (const each of parsed(orderSchema, placed, 'order').authorizations) await authorize(each)
  let order = await poll(url, orderSchema, ({ status }) => status !== 'pending')

  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (order.status === 'ready') {
    const csr = signingRequest(name, privateKey).toString('base64url')
    await session.post(order.finalize, { csr }, signal)
    order = await poll(url, orderSchema, ({ status }) => status !== 'processing' && status !== 'ready')
  }
  if (order.status !== 'valid' || order.certificate === undefined) {
    throw problemFrom(order.error, `the CA ended the order as ${order.status.slice(0, 40)}`)
  }
  const chain = (await session.post(order.certificate, null, signal)).body.toString('utf8')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const checked = checkCertificate({
    chain: chain.slice(0, CHAIN_LIMIT_CHARS),
    key,
    name,
    nowMs: clock.nowMs() + CLOCKS_APART_MS,
  })
  if (checked.ok) return checked.certificate
  throw new AcmeProblem('unknown', `the CA's certificate cannot be used: ${problemText(checked.problem)}`)

  async function placeOrder(at: string, replaced: string | null): Promise<AcmeAnswer> {
    const identifiers = [{ type: 'dns', value: name }]
    if (replaced === null) return session.post(at, { identifiers }, signal)
    try {
      return await session.post(at, { identifiers, replaces: replaced }, signal)
    } catch (error) {
      const about = error instanceof AcmeProblem && REPLACEMENT_PROBLEMS.has(error.kind)
      if (!about) throw error
      return session.post(at, { identifiers }, signal)
    }
  }

  async function authorize(at: string): Promise<void> {
    const found = parsed(authorizationSchema, await session.post(at, null, signal), 'authorization')
    if (found.status === 'valid') return
    const challenge = found.challenges.find(({ type }) => type === request.kind)
    if (challenge?.token === undefined || !TOKEN.test(challenge.token)) {
      throw new AcmeProblem('unknown', `the CA does not offer the challenge ${request.kind}`)
    }
    const { token } = challenge
    await request.publish({
      kind: request.kind,
      token,
      keyAuthorization: `${token}.${session.signer.thumbprint}`,
    })
    await session.post(challenge.url, {}, signal)
    const judged = await poll(at, authorizationSchema, ({ status }) => status !== 'pending')
    if (judged.status !== 'valid') throw problemFrom(errorOf(judged), 'the CA did not accept our proof')
  }

  async function poll<Schema extends z.ZodType>(
    at: string,
    schema: Schema,
    settled: (body: z.infer<Schema>) => boolean,
  ): Promise<z.infer<Schema>> {
    for (let waitMs = times.pollMs; ; waitMs = Math.min(waitMs * 2, MAX_POLL_MS)) {
      const answer: AcmeAnswer = await session.post(at, null, signal)
      const body = parsed(schema, answer, 'answer')
      if (settled(body)) return body
      if (clock.nowMs() >= untilMs) throw new AcmeProblem('unreachable', 'the CA took too long')
      const wanted = retryAfterMs(answer.headers['retry-after'], clock.nowMs()) ?? 0
      await sleep(Math.min(Math.max(waitMs, wanted), MAX_POLL_MS), undefined, { signal })
    }
  }
}

function errorOf({ challenges }: Authorization): unknown {
  return challenges.find(({ error }) => error !== undefined)?.error
}
