import { once } from 'node:events'
import type { Socket } from 'node:net'
import tls from 'node:tls'

import type { AddressGuard } from './address-guard.ts'
import { ConnectError, guardedConnect } from './guarded-connect.ts'

type AskAddresses = {
  addresses: readonly string[]
  port: number
  guard: AddressGuard
  timeoutMs: number
  signal: AbortSignal
}

/** Returns whether this node answers on the connected socket. */
export type LookForUs = (socket: Socket, within: AbortSignal) => Promise<boolean>

/** Addresses at which this node answers, and at which another program does. */
export type Answering = { here: string[]; other: string[] }

const MOST_ADDRESSES = 8
const ANSWER_LIMIT_BYTES = 16_384

/** Asks all permitted addresses, because clients use any. Returns null if none is permitted. Rejects only when aborted. */
export async function askAddresses(
  { addresses, port, guard, timeoutMs, signal }: AskAddresses,
  look: LookForUs,
): Promise<Answering | null> {
  const permitted = addresses.filter((address) => guard.permits(address, port)).slice(0, MOST_ADDRESSES)
  if (permitted.length === 0) return null
  const found: Answering = { here: [], other: [] }
  await Promise.all(
    permitted.map(async (address) => {
      const answering = await askOne(address)
      if (answering !== null) found[answering].push(address)
    }),
  )
  signal.throwIfAborted()
  return found

  async function askOne(address: string): Promise<'here' | 'other' | null> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    let socket: Socket
    try {
      socket = await guardedConnect({ host: address, port, guard, timeoutMs, signal })
    } catch (error) {
      if (error instanceof ConnectError || signal.aborted) return null
      throw error
    }
    const cut = () => socket.destroy()
    within.addEventListener('abort', cut)
    socket.on('error', () => {})
    try {
      return (await look(socket, within)) ? 'here' : 'other'
    } catch {
      return 'other'
    } finally {
      within.removeEventListener('abort', cut)
      socket.destroy()
    }
  }
}

/** Requests `path`, and looks for `answer` in a 200 response. */
export function findsAnswer(name: string, path: string, answer: string): LookForUs {
  return async (socket) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: Prepaint\r\nAccept: */*\r\nConnection: close\r\n\r\n`
    socket.write(head)
    let text = ''
    const isFound = () => text.startsWith('HTTP/1.1 200') && text.includes(answer)
    for await (const part of socket as AsyncIterable<Buffer>) {
      text += part.toString('latin1')
      if (text.length > ANSWER_LIMIT_BYTES || isFound()) break
    }
    return isFound()
  }
}

/** Opens TLS first and accepts any certificate: the answer inside is the proof. */
export function insideTls(
  name: string,
  ALPNProtocols: string[],
  look: (secure: tls.TLSSocket, within: AbortSignal) => Promise<boolean>,
): LookForUs {
  return async (socket, within) => {
    const secure = tls.connect({ socket, servername: name, ALPNProtocols, rejectUnauthorized: false })
    secure.on('error', () => {})
    try {
      await once(secure, 'secureConnect', { signal: within })
      return await look(secure, within)
    } finally {
      secure.destroy()
    }
  }
}
