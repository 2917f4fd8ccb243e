import { within } from '@prepaint/runtime/within.ts'
import { type AddressGuard, isPublicAddress } from './address-guard.ts'
import { type Lookup, lookupAddresses } from './lookup.ts'
import { hostInUrl, parseHost } from './origin.ts'

type OriginUrlCheck = { ok: true; originUrl: string } | { ok: false; reason: string }

type OriginUrlOptions = {
  lookup?: Lookup
  /** A timeout does not make the URL invalid. */
  timeoutMs: number
}

const MAX_ORIGIN_URL_CHARS = 2_048

/** Internal names (RFC 6761, RFC 8375, ICANN 2024, draft-chapin-rfc2606bis). */
const INTERNAL_SUFFIX =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa|in-addr\.arpa|ip6\.arpa)$/

/** Validates and normalizes `origin_url`. Accepts unresolvable names: the guard checks every connection. */
export async function checkOriginUrl(
  raw: string,
  guard: AddressGuard,
  { lookup = lookupAddresses, timeoutMs }: OriginUrlOptions,
): Promise<OriginUrlCheck> {
  if (raw.length > MAX_ORIGIN_URL_CHARS) {
    return refuse(`must be at most ${MAX_ORIGIN_URL_CHARS} characters`)
  }
  // The URL parser would silently drop or convert these.
  if (/[\s\p{Cc}\\]/u.test(raw)) return refuse('must not contain spaces, control characters or backslashes')
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(raw)?.[1]?.toLowerCase()
  if (scheme === undefined) return refuse('must be a full URL such as https://www.example.com')
  if (scheme !== 'http' && scheme !== 'https') return refuse('must use http or https')
  if (!/^[a-z]+:\/\/[^/?#]/i.test(raw)) return refuse('must name a host')
  // The URL parser accepts an empty user (http://@host) and an empty query.
  const [, authority = '', rest = ''] = /^[a-z]+:\/\/([^/?#]*)(.*)$/i.exec(raw) ?? []
  if (authority.includes('@')) return refuse('must not contain a user name or password')
  if (!URL.canParse(raw)) return refuse('is not a valid URL')
  if (rest !== '' && rest !== '/') return refuse('must not have a path, query or fragment')

  const url = new URL(raw)
  const host = parseHost(url.hostname)
  if (url.port === '0') return refuse('must not use port 0')
  if (host === null) return refuse('is not a valid host name')
  const port = Number(url.port || (scheme === 'https' ? 443 : 80))
  const originUrl = `${scheme}://${hostInUrl(host)}${url.port === '' ? '' : `:${port}`}`

  if (host.kind === 'address') {
    if (!guard.permits(host.text, port))
      return refuse(
        'must not be an internal address, unless the operator allows it (PREPAINT_ALLOW_PRIVATE_ORIGINS)',
      )
    // Some programs read 010.1.2.3 as 8.1.2.3, others as 10.1.2.3.
    const plain = host.text.includes(':') || authority.replace(/:\d*$/, '') === host.text
    return plain ? { ok: true, originUrl } : refuse('must write an IP address as four decimal numbers')
  }
  const internal = internalName(host.text)
  // Without an allowed private range, no internal name can work.
  if (internal !== null && !guard.allowsPrivate) return refuse(internal)

  const found = lookup(host.text).catch((): readonly string[] => [])
  const addresses = await within(timeoutMs, found, [])
  if (internal !== null) {
    // localhost has two addresses, of which the operator may have allowed one.
    const allowed = addresses.filter((address) => !isPublicAddress(address) && guard.permits(address, port))
    const enough = host.text === 'localhost' ? allowed.length > 0 : allowed.length === addresses.length
    return addresses.length > 0 && enough ? { ok: true, originUrl } : refuse(internal)
  }
  if (!addresses.every((address) => guard.permits(address, port))) {
    return refuse('the name resolves to an internal address')
  }
  return { ok: true, originUrl }
}

/** Returns why the name is internal, or null if it is not. */
function internalName(name: string): string | null {
  if (name === 'localhost' || name.endsWith('.localhost')) return 'localhost is not allowed'
  if (INTERNAL_SUFFIX.test(name)) return 'internal names are not allowed'
  return name.includes('.') ? null : 'must be a full domain name'
}

function refuse(reason: string): OriginUrlCheck {
  return { ok: false, reason }
}
