import { createRenewals } from './session-renewal.ts'

/** A request that was refused or got no answer; `message` is for people. */
export class ApiError extends Error {
  /** 0: no answer came. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiError'
    this.status = status
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

type Options = { body?: unknown; signal?: AbortSignal }

/** What gives the session another cookie goes through `renew`. */
export const renewals = createRenewals()

/** Asks our own server, with the cookie of the session. Throws `ApiError`, and what `signal` aborts with. */
export async function request<Answer = null>(
  method: Method,
  path: string,
  { body, signal }: Options = {},
): Promise<Answer> {
  const before = renewals.count
  const response = await fetch(path, {
    method,
    ...(signal && { signal }),
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, 'The server does not answer. Is it running, and are you online?')
  })
  const text = await response.text()
  const answer = parsed(text)
  if (response.ok) return answer as Answer
  if (response.status === 401 && method === 'GET') {
    await renewals.settled()
    if (renewals.count !== before) return request(method, path, { ...(signal && { signal }) })
  }
  throw new ApiError(response.status, errorText(response.status, answer))
}

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
  return `The server answered with status ${status}, and not with a reason.`
}

/** What to tell people of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
