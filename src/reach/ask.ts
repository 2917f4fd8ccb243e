import { once } from 'node:events'
import type { Socket } from 'node:net'
import tls from 'node:tls'

import type { AddressGuard } from '../gateway/address-guard.ts'
import { guardedConnect } from '../gateway/guarded-connect.ts'
import type { Lookup } from '../gateway/lookup.ts'

export type AskTarget = {
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
