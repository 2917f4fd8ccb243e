import { type AddressGuard, isPublicAddress } from '../../outbound/address-guard.ts'
import { type Lookup, lookupAddresses } from '../../outbound/lookup.ts'
import { type Origin, parseHost, readOrigin } from '../../outbound/origin.ts'
import { checkOriginUrl } from '../../outbound/origin-url.ts'
import { within } from '../../within.ts'

const URL_LIMIT_CHARS = 2_048
const LOOKUP_MS = 5_000

/** Names are checked again at each delivery. http only to private addresses that the operator allows. */
export async function checkEndpointUrl(
  raw: string,
  guard: AddressGuard,
  lookup: Lookup = lookupAddresses,
): Promise<{ ok: true } | { ok: false; reason: string }> {
  const refuse = (reason: string) => ({ ok: false, reason }) as const
  if (raw.length > URL_LIMIT_CHARS) return refuse(`must be at most ${URL_LIMIT_CHARS} characters`)
  if (/[\s\p{Cc}\\]/u.test(raw)) return refuse('must not contain spaces, control characters or backslashes')
  if (raw.includes('#')) return refuse('must not have a fragment')
  const url = URL.parse(raw)
  const [base] = /^[a-z][a-z0-9+.-]*:\/\/[^/?]+/i.exec(raw) ?? []
  if (url === null || base === undefined)
    return refuse('must be a full URL such as https://hooks.example.com/path')
  const checked = await checkOriginUrl(base, guard, { lookup, timeoutMs: LOOKUP_MS })
  if (!checked.ok) return checked
  const { protocol, port, hostname } = url
  if (protocol === 'https:') {
    const isAllowed = port === '' || Number(port) >= 1_024
    return isAllowed ? { ok: true } : refuse('must use port 443 or one from 1024 up')
  }
  const host = parseHost(hostname)!
  const found = host.kind === 'address' ? Promise.resolve([host.text]) : lookup(host.text).catch(() => [])
  const addresses = await within(LOOKUP_MS, found, [])
  return addresses.length > 0 && !addresses.some(isPublicAddress) ? { ok: true } : refuse('must use https')
}

/** Of a checked URL. Each endpoint has connections of its own. */
export function endpointTarget(raw: string, endpoint: number): { origin: Origin; path: string } {
  const { protocol, host, pathname, search } = new URL(raw)
  return { origin: readOrigin(`${protocol}//${host}`, `endpoint ${endpoint}`), path: `${pathname}${search}` }
}
