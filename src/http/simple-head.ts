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
 * all others, right or wrong: those are for node's parser. `text`: what came, as Latin-1.
 */
export function readSimpleHead(text: string): SimpleHead | null {
  if (text.length > SIMPLE_HEAD_BYTES) return null
  const parts = SIMPLE.exec(text)
  if (parts === null) return null
  // A name that every object has (`constructor`) counts as said before.
  const headers: IncomingHttpHeaders = {}
  const lines = parts[3]!
  for (let at = 0; at < lines.length; ) {
    const [colon, end] = [lines.indexOf(':', at), lines.indexOf('\r', at)]
    const name = lines.slice(at, colon).toLowerCase()
    if (NOT_SIMPLE.has(name) || headers[name] !== undefined) return null
    headers[name] = withoutSpace(lines, colon + 1, end)
    at = end + 2
  }
  if (headers.host === undefined) return null
  const { connection } = headers
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null
  return { method: parts[1] as SimpleHead['method'], url: parts[2]!, headers }
}

/** Spaces and tabs around a value are not its own (RFC 9112, section 5.1). */
function withoutSpace(lines: string, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isSpace(lines.charCodeAt(start))) start++
  while (end > start && isSpace(lines.charCodeAt(end - 1))) end--
  return lines.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09
}
