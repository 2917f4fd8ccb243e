import { once } from 'node:events'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { AddressGuard } from '../../outbound/address-guard.ts'
import { ConnectError, guardedConnect } from '../../outbound/guarded-connect.ts'
import type { Lookup } from '../../outbound/lookup.ts'

type AskTarget = {
  scheme: 'http' | 'https'
  host: string
  port: number
  /** What stands in `Host`. */
  name: string
  path: string
  /** Whether the certificate must be good. */
  verified: boolean
}

export type AskOptions = {
  guard: AddressGuard
  lookup?: Lookup | undefined
  signal: AbortSignal
  timeoutMs: number
}

const ANSWER_LIMIT_BYTES = 16_384

/** The beginning of an answer: its status and at most 16 KiB with its head. Throws what keeps it from coming. */
export async function ask(
  { scheme, host, port, name, path, verified }: AskTarget,
  { guard, lookup, signal, timeoutMs }: AskOptions,
): Promise<{ status: number; text: string }> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  const socket = await guardedConnect({ host, port, guard, timeoutMs, signal: within, lookup })
  socket.on('error', () => {})
  const cut = () => socket.destroy()
  within.addEventListener('abort', cut)
  try {
    const stream = scheme === 'http' ? socket : await secured(socket, name, verified, within)
    const host_ = port === (scheme === 'http' ? 80 : 443) ? name : `${name}:${port}`
    stream.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host_}\r\nUser-Agent: Prepaint\r\nAccept: */*\r\nConnection: close\r\n\r\n`,
    )
    let text = ''
    for await (const part of stream as AsyncIterable<Buffer>) {
      text += part.toString('latin1')
      if (text.length > ANSWER_LIMIT_BYTES) break
    }
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]
    if (status === undefined) throw new Error('this is no answer of HTTP')
    return { status: Number(status), text }
  } finally {
    within.removeEventListener('abort', cut)
    socket.destroy()
  }
}

async function secured(
  socket: Socket,
  name: string,
  verified: boolean,
  signal: AbortSignal,
): Promise<Socket> {
  const secure = tls.connect({ socket, servername: name, rejectUnauthorized: verified })
  secure.on('error', () => {})
  await once(secure, 'secureConnect', { signal })
  return secure
}

/** `status`: of its answer; null: there was none, and `problem` says why. */
export type TriedOrigin = { status: number | null; problem: string | null }

/**
 * Asks an origin, whose URL has been checked, for its first page, as the edge
 * would ask for it. Every address passes the guard. Never rejects.
 */
export async function tryOrigin(
  originUrl: string,
  options: { guard: AddressGuard; lookup?: Lookup; timeoutMs?: number },
): Promise<TriedOrigin> {
  const url = new URL(originUrl)
  const scheme = url.protocol === 'http:' ? 'http' : 'https'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || (scheme === 'http' ? 80 : 443))
  try {
    const target = { scheme, host, port, name: host, path: '/', verified: true } as const
    const signal = new AbortController().signal
    const { status } = await ask(target, { timeoutMs: 4_000, signal, ...options })
    return { status, problem: null }
  } catch (error) {
    return { status: null, problem: problemOf(error) }
  }
}

function problemOf(error: unknown): string {
  if (error instanceof ConnectError) {
    if (error.fault === 'refused-address') return 'it leads to an address that is not public'
    return error.fault === 'unresolvable' ? 'its name has no address in the DNS' : 'it takes no connection'
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(code)) return 'its certificate is not good for its name'
  return 'it gives no answer in time'
}
