import type { DomainName } from '../ids.ts'

type DomainNameResult = { ok: true; name: DomainName } | { ok: false; reason: string }

/** RFC 1035, section 2.3.4: 255 octets on the wire are 253 characters. */
const NAME_LIMIT_CHARS = 253
const RAW_LIMIT_CHARS = 1_000

// URL syntax, and characters that the URL parser would decode or cut off silently.
const NOT_OF_A_NAME = /[\x00-\x20\x7f/:@?#\\%[\]*|<>^"'`{}(),;!$&+=~_]/

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Lower case, ASCII (IDN in punycode), without the final dot. */
export function parseDomainName(raw: string): DomainNameResult {
  const refuse = (reason: string): DomainNameResult => ({ ok: false, reason })

  const trimmed = raw.trim()
  if (trimmed === '') return refuse('must not be empty')
  if (trimmed.length > RAW_LIMIT_CHARS) return refuse(`must have at most ${NAME_LIMIT_CHARS} characters`)
  if (isAddress(trimmed)) return refuse('must be a name, not an IP address')
  if (NOT_OF_A_NAME.test(trimmed)) {
    return refuse('must be a name only: letters, digits, hyphens and dots, without scheme, port or path')
  }

  const ascii = URL.parse(`http://${trimmed}/`)?.hostname.replace(/\.$/, '') ?? ''
  if (ascii === '') return refuse('is not a valid domain name')
  // The URL standard also reads 127.1 and 0x7f000001 as addresses.
  if (isAddress(ascii)) return refuse('must be a name, not an IP address')
  if (ascii.length > NAME_LIMIT_CHARS) return refuse(`must have at most ${NAME_LIMIT_CHARS} characters`)

  const labels = ascii.split('.')
  if (labels.length < 2) return refuse('must have at least two labels, like shop.example.com')
  if (!labels.every((label) => LABEL.test(label))) {
    return refuse('each label must have 1 to 63 letters, digits or hyphens, no hyphen at its ends')
  }
  if (/^\d+$/.test(labels.at(-1)!)) return refuse('must not end in a number')
  return { ok: true, name: ascii as DomainName }
}

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/

/** Accepts IPv6 with and without brackets and zone. */
function isAddress(text: string): boolean {
  if (IPV4.test(text)) return true
  const bare = text.replace(/^\[|\]$/g, '').replace(/%\w+$/, '')
  return bare.includes(':') && /^[\da-f:.]+$/i.test(bare) && URL.canParse(`http://[${bare}]/`)
}
