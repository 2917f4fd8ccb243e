/** The kinds of values that settings take. A message continues a sentence that begins with the name of the setting. */
import { isIP } from 'node:net'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import { type AllowedRange, parseAllowedRange } from '@prepaint/outbound/address-range'
import { parseStoreAddress, type StoreAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import type { AddressRanges } from '@prepaint/runtime/http/client-address.ts'
import { z } from 'zod'

/** What `parse` makes of the value. It returns null for a malformed one; `problem` may repeat what is no secret. */
export function parsed<Value>(
  parse: (raw: string) => Value | null,
  problem: (raw: string) => string,
): z.ZodType<Value, string> {
  return z.string().transform((raw, context) => {
    const value = parse(raw)
    if (value !== null) return value
    context.addIssue({ code: 'custom', message: problem(raw) })
    return z.NEVER
  })
}

export function integer(least: number, most: number): z.ZodType<number, string> {
  return parsed(
    (raw) => (/^\d+$/.test(raw) && least <= Number(raw) && Number(raw) <= most ? Number(raw) : null),
    (raw) => `must be a whole number in ${least}..${most}, got "${raw}"`,
  )
}

const MOST_PROCESSES = 64

/** Null: `auto`. */
export function processes(): z.ZodType<number | null, string> {
  return z.union([z.literal('auto').transform(() => null), integer(1, MOST_PROCESSES)], {
    error: ({ input }) => `must be auto or a whole number in 1..${MOST_PROCESSES}, got "${input}"`,
  })
}

export function port(): z.ZodType<number, string> {
  return integer(0, 65_535)
}

export function oneOf<const Value extends string>(allowed: readonly Value[]) {
  return z.enum(allowed, { error: ({ input }) => `must be one of ${allowed.join(', ')}, got "${input}"` })
}

export function flag(): z.ZodType<boolean, string> {
  return oneOf(['0', '1']).transform((value) => value === '1')
}

/** The message does not repeat the value, which may contain a password. */
export function url(schemes: readonly string[]) {
  const beginnings = schemes.map((scheme) => `${scheme}//`).join(' or ')
  return z.string().refine((raw) => URL.canParse(raw) && schemes.includes(new URL(raw).protocol), {
    error: `must be a URL beginning with ${beginnings}`,
    abort: true,
  })
}

/** A provider of single sign-on. Its secret must not travel unencrypted, but on this machine. */
export function issuer() {
  return url(['https:', 'http:'])
    .refine((raw) => new URL(raw).protocol === 'https:' || isLoopback(new URL(raw).hostname), {
      error: 'must begin with https:// (http:// is for loopback only)',
      abort: true,
    })
    .refine((raw) => !/[?#@]/.test(raw), 'must have no user, query or fragment')
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname)
}

/** Some of `known`, separated by commas. */
export function listOf<const Value extends string>(
  known: readonly Value[],
): z.ZodType<ReadonlySet<Value>, string> {
  return z.string().transform((raw, context) => {
    const names = raw.split(',').map((name) => name.trim())
    const unknown = names.filter((name) => !(known as readonly string[]).includes(name))
    if (unknown.length > 0) {
      context.addIssue({ code: 'custom', message: `knows ${known.join(', ')}, got "${unknown.join(',')}"` })
      return z.NEVER
    }
    return new Set(names as Value[])
  })
}

/** Addresses and networks, each with a port or for all ports. */
export function allowedRanges(): z.ZodType<AllowedRange[], string> {
  return ranges('CIDR or CIDR:port', () => true)
}

/** Addresses and networks; `none` is the empty list. */
export function addressRanges(): z.ZodType<AddressRanges, string> {
  const list = ranges('addresses or CIDR', ({ port }) => port === null)
  return z
    .string()
    .transform((raw) => (raw === 'none' ? '' : raw))
    .pipe(list)
    .transform((entries) => entries.map(({ cidr }) => cidr))
}

/** Every malformed entry is a problem of its own. */
function ranges(kind: string, fits: (range: AllowedRange) => boolean): z.ZodType<AllowedRange[], string> {
  return z.string().transform((raw, context) => {
    const found: AllowedRange[] = []
    for (const entry of raw.split(',').map((each) => each.trim())) {
      if (entry === '') continue
      const range = parseAllowedRange(entry)
      if (range !== null && fits(range)) found.push(range)
      else context.addIssue({ code: 'custom', message: `takes ${kind}, got "${entry}"` })
    }
    return found
  })
}

/** `edge.example.net`, or `203.0.113.5,2001:db8::5`. */
export function edgeTarget(): z.ZodType<EdgeTarget, string> {
  return parsed(parseEdgeTarget, (raw) => `takes a host name, or addresses separated by commas, got "${raw}"`)
}

function parseEdgeTarget(raw: string): EdgeTarget | null {
  const parts = raw.split(',').map((part) => part.trim())
  if (parts.every((part) => isIP(part) !== 0)) return { host: null, addresses: parts }
  const isName =
    parts.length === 1 &&
    /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i.test(raw.trim())
  return isName ? { host: raw.trim().toLowerCase(), addresses: [] } : null
}

/** As text, for the firewalls of others. */
export function egressAddresses(): z.ZodType<string[], string> {
  return parsed(
    (raw) => {
      const parts = raw.split(',').map((part) => part.trim())
      return parts.every(isAddressOrRange) ? parts : null
    },
    (raw) => `takes addresses or CIDR ranges separated by commas, got "${raw}"`,
  )
}

function isAddressOrRange(part: string): boolean {
  const [address = '', bits, ...more] = part.split('/')
  const most = isIP(address) === 6 ? 128 : 32
  const hasBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
  return isIP(address) !== 0 && hasBits && more.length === 0
}

/** The message names the part that is malformed, and repeats nothing: the value has a secret. */
export function bodies(): z.ZodType<StoreAddress, string> {
  return z.string().transform((raw, context) => {
    const parsed = parseStoreAddress(raw)
    if ('address' in parsed) return parsed.address
    context.addIssue({ code: 'custom', message: parsed.problem })
    return z.NEVER
  })
}

/** `192.0.2.53:53,[2001:db8::53]:53`; without a port it is 53. */
export function nameServers(): z.ZodType<string[], string> {
  return parsed(
    (raw) => {
      const parts = raw.split(',').map((part) => part.trim())
      return parts.every(isNameServer) ? parts : null
    },
    (raw) => `takes addresses with a port, such as 192.0.2.53:53, separated by commas, got "${raw}"`,
  )
}

function isNameServer(part: string): boolean {
  if (isIP(part) !== 0) return !part.includes('%')
  const [, six, four, port = ''] = /^(?:\[([^\]%]+)\]|([\d.]+)):(\d{1,5})$/.exec(part) ?? []
  return isIP(six ?? four ?? '') !== 0 && 1 <= Number(port) && Number(port) <= 65_535
}

export function contact(): z.ZodType<string, string> {
  const isMail = (raw: string) => /^[^\s@<>"]{1,64}@[^\s@<>"]{1,255}$/.test(raw)
  const isUrl = (raw: string) => URL.canParse(raw) && /^https?:\/\//i.test(raw)
  return z.string().refine((raw) => isMail(raw) || isUrl(raw), {
    error: ({ input }) => `must be an e-mail address or an http or https URL, got "${input}"`,
  })
}
