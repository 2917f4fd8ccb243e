import type { IncomingHttpHeaders } from 'node:http'

export type SimpleHead = {
  method: 'GET' | 'HEAD'
  url: string
  /** Lower-case names; includes `host`, no duplicates. */
  headers: IncomingHttpHeaders
  /** The header lines as they were sent, with their line breaks. */
  lines: string
}

export const SIMPLE_HEAD_BYTES = 8_192

/** Visible ASCII, spaces and tabs, so no line breaks in values. */
const SIMPLE =
  /^(GET|HEAD) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e]*\r\n)+)\r\n$/

/** May announce a body, an upgrade or connection options. `__proto__` is not a safe property. */
const NOT_SIMPLE: ReadonlySet<string> = new Set([
  '__proto__',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Parses a head that all HTTP/1.1 servers read alike (RFC 9112). Returns null if Node's parser must read it. Copies each
 * string, because a slice would keep the whole head in memory.
 */
export function readSimpleHead(bytes: Buffer): SimpleHead | null {
  if (bytes.length > SIMPLE_HEAD_BYTES) return null
  const text = bytes.toString('latin1')
  const parts = SIMPLE.exec(text)
  if (parts === null) return null
  // Inherited names (`constructor`) count as repeated.
  const headers: IncomingHttpHeaders = {}
  const end = text.length - 2
  for (let at = end - parts[3]!.length; at < end; ) {
    const colon = text.indexOf(':', at)
    const next = text.indexOf('\r', at)
    const name = text.slice(at, colon).toLowerCase()
    if (NOT_SIMPLE.has(name) || headers[name] !== undefined) return null
    headers[name] = withoutSpace(bytes, colon + 1, next)
    at = next + 2
  }
  if (headers.host === undefined) return null
  const { connection } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null
  const method = parts[1] as SimpleHead['method']
  const target = parts[2]!
  const targetAt = method.length + 1
  return {
    method,
    url: bytes.toString('latin1', targetAt, targetAt + target.length),
    headers,
    lines: parts[3]!,
  }
}

/** How a simple head begins. */
const BEGINNING = /^(?:GET|HEAD) \//

/** Returns whether a head that may be a simple one has not come to its end. */
export function isBeginning(bytes: Buffer): boolean {
  if (bytes.length >= SIMPLE_HEAD_BYTES || bytes.includes(END_OF_HEAD)) return false
  return BEGINNING.test(bytes.toString('latin1', 0, 'HEAD /'.length))
}

const END_OF_HEAD = '\r\n\r\n'

/** Takes the first head apart from the requests that were sent behind it. `others` null: there are none. */
export function firstHead(bytes: Buffer): { first: Buffer; others: Buffer | null } {
  const end = bytes.indexOf(END_OF_HEAD) + END_OF_HEAD.length
  if (end < END_OF_HEAD.length || end === bytes.length) return { first: bytes, others: null }
  return { first: bytes.subarray(0, end), others: bytes.subarray(end) }
}

/** Returns the names and values of a simple head by turns. They keep the whole head in memory. */
export function rawHeadersOf(lines: string): string[] {
  const list: string[] = []
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(':', at)
    const next = lines.indexOf('\r', colon)
    let start = colon + 1
    let end = next
    while (start < end && isSpace(lines.charCodeAt(start))) start++
    while (end > start && isSpace(lines.charCodeAt(end - 1))) end--
    list.push(lines.slice(at, colon), lines.slice(start, end))
    at = next + 2
  }
  return list
}

/** A request line to its end, whose target has bytes that no URL may have. */
const WITH_BYTES = /^([A-Z]{3,7} \/)((?=[^ \r\n]*[\x80-\xff])[^\x00-\x20\x7f]*)(?= HTTP\/1\.[01]\r?\n)/

/**
 * Percent-encodes bytes that are not ASCII in the target of the first request line, as nginx does. Old crawlers and
 * scripts send UTF-8 there, which Node's parser refuses.
 */
export function encodeTarget(bytes: Buffer): Buffer {
  const end = bytes.indexOf(LINE_FEED)
  if (end === -1 || end > SIMPLE_HEAD_BYTES) return bytes
  const found = WITH_BYTES.exec(bytes.toString('latin1', 0, end + 1))
  if (found === null) return bytes
  const [line, before = '', target = ''] = found
  const encoded = target.replace(
    /[\x80-\xff]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return Buffer.concat([Buffer.from(before + encoded, 'latin1'), bytes.subarray(line.length)])
}

const LINE_FEED = 0x0a

/** The same, without its end. Node's parser would refuse it before the rest has come. */
const BEGINNING_WITH_BYTES =
  /^[A-Z]{3,7} \/[^\x00-\x20\x7f]*[\x80-\xff][^\x00-\x20\x7f]*(?: [\x20-\x7e]{0,8}\r?)?$/

/** Returns whether `encodeTarget` changes these bytes, or may do so when the rest of the line is there. */
export function canEncodeTarget(bytes: Buffer): boolean {
  return isBeginningWithBytes(bytes) || encodeTarget(bytes) !== bytes
}

export function isBeginningWithBytes(bytes: Buffer): boolean {
  if (bytes.length >= SIMPLE_HEAD_BYTES || bytes.at(-1) === LINE_FEED) return false
  return BEGINNING_WITH_BYTES.test(bytes.toString('latin1'))
}

/** Returns the value of a header without the space around it (RFC 9112, section 5.1). */
function withoutSpace(bytes: Buffer, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isSpace(bytes[start]!)) start++
  while (end > start && isSpace(bytes[end - 1]!)) end--
  return bytes.toString('latin1', start, end)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}
