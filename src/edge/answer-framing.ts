import type { AnswerHead } from './answer-reader.ts'

/** What says where a body ends. */
export type BodyEnd = 'length' | 'chunks' | 'connection'

export type Framing = {
  end: BodyEnd
  /** Of a body with a length. */
  bytes: number
  /** Another answer may follow on the connection. */
  keeps: boolean
}

const LENGTH = /^\d{1,15}$/

/**
 * How long the body of a final answer is (RFC 9112, section 6.3), or what is
 * wrong with what it says about that. A length beside chunks, two lengths and codings other than chunks are refused.
 */
export function bodyEndOf(head: AnswerHead, method: string): Framing | string {
  const { statusCode, httpVersion, rawHeaders } = head
  let length: string | null = null
  let coding: string | null = null
  let connection = ''
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    // The three names differ in their length, as nearly all others do from them.
    if (name.length !== 14 && name.length !== 17 && name.length !== 10) continue
    const lower = name.toLowerCase()
    const value = rawHeaders[at + 1]!
    if (lower === 'content-length') {
      if (length !== null) return 'The answer has two lengths'
      length = value
    } else if (lower === 'transfer-encoding') {
      if (coding !== null) return 'The answer has two codings'
      coding = value
    } else if (lower === 'connection') connection += `${value},`
  }
  if (length !== null && !LENGTH.test(length)) return 'The length of the answer is no number'
  if (coding !== null && length !== null) return 'The answer has a length and chunks'
  if (coding !== null && coding.toLowerCase() !== 'chunked') return 'The answer has an unknown coding'
  if (coding !== null && httpVersion === '1.0') return 'The answer has chunks in HTTP/1.0'

  const options = connection === '' ? [] : connection.toLowerCase().split(/[\s,]+/)
  const keeps = httpVersion === '1.1' ? !options.includes('close') : options.includes('keep-alive')
  if (statusCode === 204) {
    // It can have no body; who says that it has one may send it (section 6.3, rule 1, and RFC 9110, section 8.6).
    return { end: 'length', bytes: 0, keeps: keeps && coding === null && (length ?? '0') === '0' }
  }
  if (method === 'HEAD' || statusCode === 304) return { end: 'length', bytes: 0, keeps }
  if (coding !== null) return { end: 'chunks', bytes: 0, keeps }
  if (length !== null) return { end: 'length', bytes: Number(length), keeps }
  return { end: 'connection', bytes: 0, keeps: false }
}
