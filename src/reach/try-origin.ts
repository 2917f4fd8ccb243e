import type { AddressGuard } from '../gateway/address-guard.ts'
import { ConnectError } from '../gateway/guarded-connect.ts'
import type { Lookup } from '../gateway/lookup.ts'
import { ask } from './ask.ts'

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
