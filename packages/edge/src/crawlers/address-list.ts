import { BlockList, isIP } from 'node:net'

import ipaddr from 'ipaddr.js'

export type AddressList = { ranges: number; has(address: string): boolean }

export class NotAnAddressList extends Error {
  override name = 'NotAnAddressList'
}

/** A longer list is refused. The longest known one has 200 KB. */
export const LIST_LIMIT_BYTES = 1024 * 1024
export const RANGES_LIMIT = 20_000
/** Wider ranges are mistakes that would verify every client. */
const WIDEST = { 4: 8, 6: 19 } as const

const RANGE_KEYS = ['ipv4Prefix', 'ipv6Prefix', 'ip_prefix', 'ipv6_prefix', 'ip_address', 'cidr']

/**
 * Reads JSON of Google, Bing, OpenAI, Amazon, Ahrefs and others (`{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}`),
 * or text with one range per line, with comments behind `#`. Throws NotAnAddressList with the reason.
 */
export function parseAddressList(given: string): AddressList {
  if (Buffer.byteLength(given) > LIST_LIMIT_BYTES) throw new NotAnAddressList('longer than 1 MiB')
  const text = given.replace(/^\uFEFF/, '')
  const ranges = /^\s*[[{]/.test(text) ? inJson(text) : inLines(text)
  if (ranges.length === 0) throw new NotAnAddressList('has no ranges')
  if (ranges.length > RANGES_LIMIT) throw new NotAnAddressList(`has more than ${RANGES_LIMIT} ranges`)
  // Separate: a BlockList also matches IPv4 addresses in `::/19`.
  const lists = { 4: new BlockList(), 6: new BlockList() }
  for (const range of ranges) add(lists, range)
  return {
    ranges: ranges.length,
    has(address) {
      const family = isIP(address)
      return (family === 4 || family === 6) && lists[family].check(address, KIND[family])
    },
  }
}

const KIND = { 4: 'ipv4', 6: 'ipv6' } as const
/** `::ffff:192.0.2.0/120` is `192.0.2.0/24`. */
const MAPPED_BITS = 96

/** Adds a range to the list of its family. Throws NotAnAddressList if it is none, or too wide. */
function add(lists: Record<4 | 6, BlockList>, range: string): void {
  const [, written = '', prefix] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(range) ?? []
  if (isIP(written) === 0) {
    throw new NotAnAddressList(`"${range.slice(0, 60)}" is neither an address nor a range`)
  }
  const most = isIP(written) === 4 ? 32 : 128
  const given = prefix === undefined ? most : Number(prefix)
  if (given > most) throw new NotAnAddressList(`"${range}" has more than ${most} bits`)
  const isMapped = most === 128 && given >= MAPPED_BITS && isIP(plain(written)) === 4
  const address = isMapped ? plain(written) : written
  const bits = isMapped ? given - MAPPED_BITS : given
  const family = isIP(address) === 4 ? 4 : 6
  if (bits < WIDEST[family]) throw new NotAnAddressList(`"${range}" is too wide: /${WIDEST[family]} at most`)
  lists[family].addSubnet(address, bits, KIND[family])
}

function plain(address: string): string {
  return ipaddr.process(address).toString()
}

function inLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
}

function inJson(text: string): string[] {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch (error) {
    throw new NotAnAddressList('is no JSON', { cause: error })
  }
  const ranges: string[] = []
  const open: unknown[] = [read]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [key, held] of Object.entries(value)) {
      const isRange = typeof held === 'string' && (RANGE_KEYS.includes(key) || Array.isArray(value))
      if (isRange) ranges.push(held.trim())
      else open.push(held)
    }
  }
  return ranges
}
