import { type AddressGuard, connectFault, type Lookup, readOrigin } from '@prepaint/outbound'
import { createClient, sendRequest } from '@prepaint/outbound/client'

export type TriedOrigin = { status: number | null; problem: string | null }

/** Never rejects. The caller has checked the URL. */
export async function tryOrigin(
  originUrl: string,
  { guard, lookup, timeoutMs = 4_000 }: { guard: AddressGuard; lookup?: Lookup; timeoutMs?: number },
): Promise<TriedOrigin> {
  const client = createClient(guard, { connectTimeoutMs: timeoutMs, lookup })
  try {
    const origin = readOrigin(originUrl, 'check')
    const headers = [
      'Host',
      origin.authority,
      'User-Agent',
      'Prepaint',
      'Accept',
      '*/*',
      'Connection',
      'close',
    ]
    const { statusCode } = await sendRequest(client, origin, {
      method: 'GET',
      path: '/',
      headers,
      silenceMs: timeoutMs,
      signal: AbortSignal.timeout(timeoutMs),
    }).response
    return { status: statusCode, problem: null }
  } catch (error) {
    return { status: null, problem: problemOf(error) }
  } finally {
    client.close()
  }
}

/** Completes "The server ...". */
function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(code)) return 'has no certificate that is valid for its name'
  const fault = connectFault(error)
  if (fault === 'refused-address') return 'has an address that is not public'
  if (fault === 'unresolvable') return 'has a name without an address in the DNS'
  return fault === null ? 'does not respond in time' : 'does not accept connections'
}
