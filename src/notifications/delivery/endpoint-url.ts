import type { AddressGuard } from '../../outbound/address-guard.ts'
import { isPublicAddress } from '../../outbound/address-guard.ts'
import { type Lookup, lookupAddresses } from '../../outbound/lookup.ts'
import { type Origin, originAt, parseHost } from '../../outbound/origin.ts'
import { checkOriginUrl } from '../../outbound/origin-url.ts'
import { within } from '../../within.ts'

const URL_LIMIT_CHARS = 2_048
const LOOKUP_MS = 5_000

export type EndpointUrlCheck = { ok: true } | { ok: false; reason: string }

/** Names are checked again at each delivery. http only to private addresses that the operator allows. */
export async function checkEndpointUrl(
  raw: string,
  guard: AddressGuard,
  lookup: Lookup = lookupAddresses,
): Promise<EndpointUrlCheck> {
  if (raw.length > URL_LIMIT_CHARS) return refuse(`must be at most ${URL_LIMIT_CHARS} characters`)
  if (/[\s\p{Cc}\\]/u.test(raw)) return refuse('must not contain spaces, control characters or backslashes')
  if (raw.includes('#')) return refuse('must not have a fragment')
  const url = URL.parse(raw)
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?]+)/i.exec(raw) ?? []
  if (url === null || authority === '')
    return refuse('must be a full URL such as https://hooks.example.com/path')
  const base = await checkOriginUrl(`${scheme}://${authority}`, guard, { lookup, timeoutMs: LOOKUP_MS })
  if (!base.ok) return base
  if (url.protocol === 'https:') {
    const port = Number(url.port || 443)
    return port === 443 || port >= 1_024 ? { ok: true } : refuse('must use port 443 or one from 1024 up')
  }
  const host = parseHost(url.hostname)!
  const addresses =
    host.kind === 'address'
      ? [host.text]
      : await within(
          LOOKUP_MS,
          lookup(host.text).catch(() => []),
          [],
        )
  const allowed = addresses.filter((address) => !isPublicAddress(address))
  return allowed.length > 0 && allowed.length === addresses.length ? { ok: true } : refuse('must use https')
}

/** Of a checked URL. Each endpoint has connections of its own. */
export function endpointTarget(raw: string, endpoint: number): { origin: Origin; path: string } {
  const url = new URL(raw)
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  const port = Number(url.port || (scheme === 'https' ? 443 : 80))
  const origin = originAt(scheme, { host: parseHost(url.hostname)!, port }, `endpoint ${endpoint}`)
  return { origin, path: `${url.pathname}${url.search}` }
}

function refuse(reason: string): EndpointUrlCheck {
  return { ok: false, reason }
}
