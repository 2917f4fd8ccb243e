import { AppError } from '@prepaint/contract/errors.ts'
import {
  type AddressGuard,
  checkOriginUrl,
  isPublicAddress,
  type Lookup,
  lookupAddresses,
  parseHost,
} from '@prepaint/outbound'
import { within } from '@prepaint/runtime/within.ts'

const URL_LIMIT_CHARS = 2_048
const LOOKUP_MS = 5_000

/** Names are checked again at each delivery. http only to private addresses that the operator allows. Throws `invalid_endpoint`. */
export async function checkEndpointUrl(
  raw: string,
  guard: AddressGuard,
  lookup: Lookup = lookupAddresses,
): Promise<void> {
  const reason = await wrongIn(raw, guard, lookup)
  if (reason !== null) {
    throw new AppError('invalid_endpoint', { word: reason, problems: [{ path: ['url'], message: reason }] })
  }
}

async function wrongIn(raw: string, guard: AddressGuard, lookup: Lookup): Promise<string | null> {
  if (raw.length > URL_LIMIT_CHARS) return `must be at most ${URL_LIMIT_CHARS} characters`
  if (/[\s\p{Cc}\\]/u.test(raw)) return 'must not contain spaces, control characters or backslashes'
  if (raw.includes('#')) return 'must not have a fragment'
  const url = URL.parse(raw)
  const [base] = /^[a-z][a-z0-9+.-]*:\/\/[^/?]+/i.exec(raw) ?? []
  if (url === null || base === undefined) return 'must be a full URL such as https://hooks.example.com/path'
  const checked = await checkOriginUrl(base, guard, { lookup, timeoutMs: LOOKUP_MS })
  if (!checked.ok) return checked.reason
  const { protocol, port, hostname } = url
  if (protocol === 'https:') {
    return port === '' || Number(port) >= 1_024 ? null : 'must use port 443 or one from 1024 up'
  }
  const host = parseHost(hostname)!
  const found = host.kind === 'address' ? Promise.resolve([host.text]) : lookup(host.text).catch(() => [])
  const addresses = await within(LOOKUP_MS, found, [])
  return addresses.length > 0 && !addresses.some(isPublicAddress) ? null : 'must use https'
}
