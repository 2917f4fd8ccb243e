import type { IncomingHttpHeaders } from 'node:http'

/** A request without a body, read whole. */
export type SimpleHead = {
  method: 'GET' | 'HEAD'
  /** Begins with `/`. */
  url: string
  /** By name in lower case; `host` is there, and none was said twice. */
  headers: IncomingHttpHeaders
}

/** Longer ones are read by node. */
export const SIMPLE_HEAD_BYTES = 8_192

/** Visible ASCII, spaces and tabs: no line break can stand in a value, and nothing is left to guess. */
const SIMPLE =
  /^(GET|HEAD) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n((?:[!#$%&'*+\-.^_`|~\dA-Za-z]+:[\t\x20-\x7e]*\r\n)+)\r\n$/

/** With any of these there may be a body, another protocol, or a wish about the connection; the first is no property. */
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
 * Reads a request head that every server of HTTP/1.1 reads alike (RFC 9112), and that nothing stands behind; null for
 * all others, right or wrong: those are for node's parser. Each text of it has memory of its own: it may be kept for as
 * long as a page, and a part of the whole head would keep the whole.
 */
export function readSimpleHead(bytes: Buffer): SimpleHead | null {
  if (bytes.length > SIMPLE_HEAD_BYTES) return null
  const text = bytes.toString('latin1')
  const parts = SIMPLE.exec(text)
  if (parts === null) return null
  // A name that every object has (`constructor`) counts as said before.
  const headers: IncomingHttpHeaders = {}
  const end = text.length - 2
  for (let at = end - parts[3]!.length; at < end; ) {
    const [colon, next] = [text.indexOf(':', at), text.indexOf('\r', at)]
    const name = text.slice(at, colon).toLowerCase()
    if (NOT_SIMPLE.has(name) || headers[name] !== undefined) return null
    headers[name] = withoutSpace(bytes, colon + 1, next)
    at = next + 2
  }
  if (headers.host === undefined) return null
  const { connection } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null
  const [method, target] = [parts[1] as SimpleHead['method'], parts[2]!]
  const targetAt = method.length + 1
  return { method, url: bytes.toString('latin1', targetAt, targetAt + target.length), headers }
}

/** Spaces and tabs around a value are not its own (RFC 9112, section 5.1). */
function withoutSpace(bytes: Buffer, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isSpace(bytes[start]!)) start++
  while (end > start && isSpace(bytes[end - 1]!)) end--
  return bytes.toString('latin1', start, end)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09
}
