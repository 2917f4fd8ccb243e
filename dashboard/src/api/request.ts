import type { ErrorCode } from '@prepaint/contract/errors.ts'
import { ApiError, type ErrorAnswer, rulesInWords } from './api-error.ts'
import { databaseState, isDatabaseAway } from './database-state.ts'
import { type ConfirmWay, identity } from './identity.ts'
import { shareToken } from './share-token.ts'
import { accountOfTab } from './tab-account.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

type Options = {
  /** The body as JSON. */
  body?: unknown
  /** The body as CSV, instead of `body`. */
  csv?: string
  /** A file as the body, instead of `body`. */
  file?: File
  /** The `ETag` of what is replaced. */
  ifMatch?: string
  signal?: AbortSignal
}

/** Throws `ApiError`, or the abort reason of `signal`. */
export async function request<Answer = null>(
  method: Method,
  path: string,
  options: Options = {},
): Promise<Answer> {
  const { answer } = await requestWithTag<Answer>(method, path, options)
  return answer
}

/** Returns the `ETag` of the answer too. It is empty if there is none. */
export async function requestWithTag<Answer>(
  method: Method,
  path: string,
  options: Options = {},
): Promise<{ answer: Answer; etag: string }> {
  const { signal } = options
  const before = renewals.count
  const response = await fetch(path, initOf(method, options)).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw new ApiError(
      0,
      'The server does not respond. Check your connection, and that the server is running.',
    )
  })
  const answer = parsed(await response.text())
  if (response.ok) return { answer: answer as Answer, etag: response.headers.get('etag') ?? '' }
  if (response.status === 401 && method === 'GET') {
    await renewals.settled()
    if (renewals.count !== before) return requestWithTag(method, path, { signal })
  }
  const code = response.headers.get('prepaint-error') as ErrorCode | null
  const ways = confirmWays(code, answer)
  if (ways !== null && (await identity.ask(ways))) return requestWithTag(method, path, options)
  const details = (answer ?? {}) as Partial<ErrorAnswer>
  const text = rulesInWords(details.problems ?? []) ?? errorText(response.status, answer)
  const error = new ApiError(response.status, text, { ...details, code })
  if (isDatabaseAway(error)) databaseState.set('away')
  throw error
}

/** Returns how the person can prove again who it is, if the server asks for that. */
function confirmWays(code: ErrorCode | null, answer: unknown): readonly ConfirmWay[] | null {
  const asks =
    code === 'confirm_needed' && typeof answer === 'object' && answer !== null && 'confirm' in answer
  // The dialog's own request is refused if the person set up a second factor meanwhile.
  if (!asks || identity.asked !== null) return null
  return answer.confirm as readonly ConfirmWay[]
}

function initOf(method: Method, { body, csv, file, ifMatch, signal }: Options): RequestInit {
  const headers = callerHeaders()
  if (ifMatch !== undefined) headers['if-match'] = ifMatch
  if (csv !== undefined) {
    headers['content-type'] = 'text/csv'
    return { method, headers, signal, body: csv }
  }
  if (file !== undefined) {
    headers['content-type'] = file.type
    return { method, headers, signal, body: file }
  }
  if (body === undefined) return { method, headers, signal }
  headers['content-type'] = 'application/json'
  return { method, headers, signal, body: JSON.stringify(body) }
}

/** For whom a request is: the holder of a share link, or a member of the account that this tab shows. */
export function callerHeaders(): Record<string, string> {
  const token = shareToken.get()
  if (token !== null) return { 'x-share-token': token }
  const account = accountOfTab.get()
  return account === null ? {} : { 'x-prepaint-account': String(account) }
}

/** Returns null if the text is empty, or not JSON. */
function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return null
  }
}

function errorText(status: number, answer: unknown): string {
  if (
    typeof answer === 'object' &&
    answer !== null &&
    'error' in answer &&
    typeof answer.error === 'string'
  ) {
    return answer.error
  }
  return `The server responded with status ${status} and gave no reason. Try again; if it stays, tell the operator.`
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

type Channel = {
  postMessage(word: unknown): void
  onmessage: ((event: MessageEvent) => void) | null
}

type Word = 'begins' | 'renewed' | 'kept'

/** A closed window never reports the end of its renewal. */
const RENEWAL_TIMEOUT_MS = 15_000

/** A new password replaces the session cookie. Until it arrives, requests of all windows get 401 and are retried. */
class Renewals {
  #count = 0
  #own: Promise<unknown> = Promise.resolve()
  #others: Promise<void> = Promise.resolve()
  #endOthers = () => {}
  #channel: Channel | null = null

  /** How often the cookie was replaced. */
  get count(): number {
    return this.#count
  }

  renew<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    this.#say('begins')
    const sent = send().then(
      (answer) => {
        this.#count += 1
        this.#say('renewed')
        return answer
      },
      (error: unknown) => {
        this.#say('kept')
        throw error
      },
    )
    this.#own = sent.catch(() => {})
    return sent
  }

  async settled(): Promise<void> {
    await this.#own
    await this.#others
  }

  join(channel: Channel): void {
    this.#channel = channel
    channel.onmessage = ({ data }: { data: Word }) => {
      this.#endOthers()
      if (data === 'renewed') this.#count += 1
      if (data !== 'begins') return
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, RENEWAL_TIMEOUT_MS)
      this.#others = promise
      this.#endOthers = () => {
        clearTimeout(timer)
        resolve()
      }
    }
  }

  #say(word: Word): void {
    this.#channel?.postMessage(word)
  }
}

/** Send requests that replace the session cookie through `renewals.renew`. */
export const renewals = new Renewals()
