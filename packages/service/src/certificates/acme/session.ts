import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { retryAfterMs } from '@prepaint/outbound'
import { z } from 'zod'
import { AcmeProblem, fieldsOf, problemFrom } from './problem.ts'
import type { AcmeAnswer, AcmeRequest, Transport } from './transport.ts'

const directorySchema = z.object({
  newNonce: z.string(),
  newAccount: z.string(),
  newOrder: z.string(),
  renewalInfo: z.string().optional(),
})
type Directory = z.infer<typeof directorySchema>

type SessionOptions = {
  directoryUrl: string
  email: string | null
  transport: Transport
  nowMs(): number
}

/** Methods reject with AcmeProblem, or with the reason of `signal`. */
export type AcmeSession = {
  signer: Signer
  directory(signal: AbortSignal): Promise<Directory>
  /** Creates the account if needed. `payload` null: POST-as-GET. */
  post(url: string, payload: object | null, signal: AbortSignal): Promise<AcmeAnswer>
  get(url: string, signal: AbortSignal): Promise<AcmeAnswer>
}

/** A CA may reject a nonce at any time (RFC 8555, section 6.5). */
const NONCE_TRIES = 10
const DIRECTORY_KEPT_MS = 86_400_000
const MAX_NONCES = 32

export function createAcmeSession(accountKey: KeyObject, options: SessionOptions): AcmeSession {
  const { directoryUrl, email, transport, nowMs } = options
  const signer = createSigner(accountKey)
  const nonces: string[] = []
  let known: { directory: Directory; atMs: number } | null = null
  let account: string | null = null

  async function directory(signal: AbortSignal): Promise<Directory> {
    if (known !== null && nowMs() - known.atMs < DIRECTORY_KEPT_MS) return known.directory
    const found = parsed(directorySchema, await get(directoryUrl, signal), 'directory')
    known = { directory: found, atMs: nowMs() }
    return found
  }

  async function get(url: string, signal: AbortSignal): Promise<AcmeAnswer> {
    return good(await send({ method: 'GET', url, signal }))
  }

  async function post(url: string, payload: object | null, signal: AbortSignal): Promise<AcmeAnswer> {
    account ??= await findAccount(signal)
    try {
      return await signed(url, payload, account, signal)
    } catch (error) {
      // If the CA lost the account, the next attempt registers the same key again.
      if (error instanceof AcmeProblem && error.kind === 'accountDoesNotExist') account = null
      throw error
    }
  }

  /** Finds an existing account by key (RFC 8555, section 7.3.1) and updates its contact (7.3.2). */
  async function findAccount(signal: AbortSignal): Promise<string> {
    const { newAccount } = await directory(signal)
    const contact = email === null ? {} : { contact: [`mailto:${email}`] }
    const answer = await signed(newAccount, { termsOfServiceAgreed: true, ...contact }, null, signal)
    const found = locationOf(answer, 'account')
    if (answer.status === 201 || email === null) return found
    if (JSON.stringify(fieldsOf(json(answer))['contact']) === JSON.stringify(contact.contact)) return found
    await signed(found, contact, found, signal).catch((error: unknown) => {
      if (!(error instanceof AcmeProblem)) throw error
    })
    return found
  }

  async function signed(
    url: string,
    payload: object | null,
    kid: string | null,
    signal: AbortSignal,
  ): Promise<AcmeAnswer> {
    for (let tries = 1; ; tries++) {
      const nonce = nonces.pop() ?? (await newNonce(signal))
      const body = signer.sign({ nonce, url, kid }, payload)
      try {
        return good(await send({ method: 'POST', url, body, signal }))
      } catch (error) {
        const again = error instanceof AcmeProblem && error.kind === 'badNonce' && tries < NONCE_TRIES
        if (!again) throw error
        // Other stored nonces are probably invalid; the error response has a new one.
        nonces.splice(0, nonces.length - 1)
      }
    }
  }

  async function newNonce(signal: AbortSignal): Promise<string> {
    const { newNonce: url } = await directory(signal)
    good(await send({ method: 'HEAD', url, signal }))
    const nonce = nonces.pop()
    if (nonce === undefined) throw new AcmeProblem('unknown', 'the CA gives no nonce')
    return nonce
  }

  async function send(request: AcmeRequest): Promise<AcmeAnswer> {
    const answer = await transport(request)
    const nonce = answer.headers['replay-nonce']
    if (typeof nonce === 'string') nonces.push(nonce)
    if (nonces.length > MAX_NONCES) nonces.shift()
    return answer
  }

  function good(answer: AcmeAnswer): AcmeAnswer {
    if (answer.status >= 200 && answer.status < 300) return answer
    const later = retryAfterMs(answer.headers['retry-after'], nowMs())
    if (answer.status >= 500) {
      throw new AcmeProblem('unreachable', `the CA is not available (status ${answer.status})`, {
        retryAfterMs: later,
      })
    }
    throw problemFrom(json(answer), `the CA answered with status ${answer.status}`, later)
  }

  return { signer, directory, post, get }
}

/** Throws AcmeProblem, which names `what`. */
export function parsed<Schema extends z.ZodType>(
  schema: Schema,
  answer: AcmeAnswer,
  what: string,
): z.infer<Schema> {
  const result = schema.safeParse(json(answer))
  if (result.success) return result.data
  throw new AcmeProblem('unknown', `the CA's ${what} cannot be read`)
}

export function locationOf(answer: AcmeAnswer, what: string): string {
  const { location } = answer.headers
  if (location === undefined) throw new AcmeProblem('unknown', `the CA names no address of the ${what}`)
  return location
}

function json(answer: AcmeAnswer): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'))
  } catch {
    return null
  }
}

type Signer = {
  /** Members in the order of its thumbprint (RFC 7638). */
  jwk: { crv: string; kty: string; x: string; y: string }
  thumbprint: string
  /** Flattened JWS (RFC 8555, section 6.2). `payload` null: POST-as-GET. */
  sign(header: { nonce: string; url: string; kid: string | null }, payload: object | null): string
}

function createSigner(key: KeyObject): Signer {
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  const jwk = { crv, kty, x, y }
  return {
    jwk,
    thumbprint: createHash('sha256').update(JSON.stringify(jwk)).digest('base64url'),
    sign({ nonce, url, kid }, payload) {
      const whose = kid === null ? { jwk } : { kid }
      const encodedHeader = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...whose }))
      const encodedPayload = payload === null ? '' : base64url(JSON.stringify(payload))
      const signature = sign('sha256', Buffer.from(`${encodedHeader}.${encodedPayload}`), {
        key,
        dsaEncoding: 'ieee-p1363',
      })
      return JSON.stringify({
        protected: encodedHeader,
        payload: encodedPayload,
        signature: signature.toString('base64url'),
      })
    },
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
