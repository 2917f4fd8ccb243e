import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { retryAfterMs } from '@prepaint/outbound'
import type { Clock } from '@prepaint/runtime/clock.ts'
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

/** A CA may reject a nonce at any time (RFC 8555, section 6.5). */
const NONCE_TRIES = 10
const DIRECTORY_KEPT_MS = 86_400_000
const MAX_NONCES = 32

/** An account at a CA, and what is known of both. Methods reject with AcmeProblem, or with the reason of `signal`. */
export class AcmeSession {
  readonly signer: Signer
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #directoryUrl: string
  readonly #email: string | null
  readonly #nonces: string[] = []
  #known: { directory: Directory; atMs: number } | null = null
  #account: string | null = null

  constructor(
    accountKey: KeyObject,
    transport: Transport,
    clock: Clock,
    { directoryUrl, email }: { directoryUrl: string; email: string | null },
  ) {
    this.signer = new Signer(accountKey)
    this.#transport = transport
    this.#clock = clock
    this.#directoryUrl = directoryUrl
    this.#email = email
  }

  async directory(signal: AbortSignal): Promise<Directory> {
    const known = this.#known
    if (known !== null && this.#clock.nowMs() - known.atMs < DIRECTORY_KEPT_MS) return known.directory
    const found = parsed(directorySchema, await this.get(this.#directoryUrl, signal), 'directory')
    this.#known = { directory: found, atMs: this.#clock.nowMs() }
    return found
  }

  async get(url: string, signal: AbortSignal): Promise<AcmeAnswer> {
    return this.#good(await this.#send({ method: 'GET', url, signal }))
  }

  /** Creates the account if needed. A `payload` of null is a POST-as-GET. */
  async post(url: string, payload: object | null, signal: AbortSignal): Promise<AcmeAnswer> {
    this.#account ??= await this.#findAccount(signal)
    try {
      return await this.#signed(url, payload, this.#account, signal)
    } catch (error) {
      // If the CA lost the account, the next attempt registers the same key again.
      if (error instanceof AcmeProblem && error.kind === 'accountDoesNotExist') this.#account = null
      throw error
    }
  }

  /** Finds an existing account by key (RFC 8555, section 7.3.1) and updates its contact (7.3.2). */
  async #findAccount(signal: AbortSignal): Promise<string> {
    const { newAccount } = await this.directory(signal)
    const contact = this.#email === null ? {} : { contact: [`mailto:${this.#email}`] }
    const answer = await this.#signed(newAccount, { termsOfServiceAgreed: true, ...contact }, null, signal)
    const found = locationOf(answer, 'account')
    if (answer.status === 201 || this.#email === null) return found
    if (JSON.stringify(fieldsOf(json(answer))['contact']) === JSON.stringify(contact.contact)) return found
    await this.#signed(found, contact, found, signal).catch((error: unknown) => {
      if (!(error instanceof AcmeProblem)) throw error
    })
    return found
  }

  async #signed(
    url: string,
    payload: object | null,
    kid: string | null,
    signal: AbortSignal,
  ): Promise<AcmeAnswer> {
    for (let tries = 1; ; tries++) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce(signal))
      const body = this.signer.sign({ nonce, url, kid }, payload)
      try {
        return this.#good(await this.#send({ method: 'POST', url, body, signal }))
      } catch (error) {
        const isRepeated = error instanceof AcmeProblem && error.kind === 'badNonce' && tries < NONCE_TRIES
        if (!isRepeated) throw error
        // Other stored nonces are probably invalid; the error response has a new one.
        this.#nonces.splice(0, this.#nonces.length - 1)
      }
    }
  }

  async #newNonce(signal: AbortSignal): Promise<string> {
    const { newNonce: url } = await this.directory(signal)
    this.#good(await this.#send({ method: 'HEAD', url, signal }))
    const nonce = this.#nonces.pop()
    if (nonce === undefined) throw new AcmeProblem('unknown', 'the CA gives no nonce')
    return nonce
  }

  /** Keeps the nonce that comes with each answer. */
  async #send(request: AcmeRequest): Promise<AcmeAnswer> {
    const answer = await this.#transport.send(request)
    const nonce = answer.headers['replay-nonce']
    if (typeof nonce === 'string') this.#nonces.push(nonce)
    if (this.#nonces.length > MAX_NONCES) this.#nonces.shift()
    return answer
  }

  /** Throws AcmeProblem for an answer that is an error. */
  #good(answer: AcmeAnswer): AcmeAnswer {
    if (answer.status >= 200 && answer.status < 300) return answer
    const later = retryAfterMs(answer.headers['retry-after'], this.#clock.nowMs())
    if (answer.status >= 500) {
      throw new AcmeProblem('unreachable', `the CA is not available (status ${answer.status})`, {
        retryAfterMs: later,
      })
    }
    throw problemFrom(json(answer), `the CA answered with status ${answer.status}`, later)
  }
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

/** Signs requests with the key of an account. */
class Signer {
  readonly thumbprint: string
  readonly #key: KeyObject
  /** Its members are in the order of its thumbprint (RFC 7638). */
  readonly #jwk: { crv: string; kty: string; x: string; y: string }

  constructor(key: KeyObject) {
    const { crv = '', kty = '', x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
    this.#key = key
    this.#jwk = { crv, kty, x, y }
    this.thumbprint = createHash('sha256').update(JSON.stringify(this.#jwk)).digest('base64url')
  }

  /** Returns a flattened JWS (RFC 8555, section 6.2). A `payload` of null is a POST-as-GET. */
  sign(
    { nonce, url, kid }: { nonce: string; url: string; kid: string | null },
    payload: object | null,
  ): string {
    const signer = kid === null ? { jwk: this.#jwk } : { kid }
    const encodedHeader = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...signer }))
    const encodedPayload = payload === null ? '' : base64url(JSON.stringify(payload))
    const signature = sign('sha256', Buffer.from(`${encodedHeader}.${encodedPayload}`), {
      key: this.#key,
      dsaEncoding: 'ieee-p1363',
    })
    return JSON.stringify({
      protected: encodedHeader,
      payload: encodedPayload,
      signature: signature.toString('base64url'),
    })
  }
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}
