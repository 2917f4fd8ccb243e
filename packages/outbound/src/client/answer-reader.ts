import { headerLines } from './call.ts'
import { ChunkReader } from './chunk-reader.ts'

export const ANSWER_HEAD_BYTES = 64 * 1024
export const INTERIM_ANSWERS = 20

/** The response is not HTTP/1.x or is ambiguous. Discard it and its connection. */
export class BadAnswer extends Error {
  override name = 'BadAnswer'
}

export class HeadTooLarge extends BadAnswer {}

export type AnswerHead = {
  httpVersion: '1.0' | '1.1'
  statusCode: number
  statusMessage: string
  /** Flat list; values are trimmed. */
  rawHeaders: string[]
  /** It is null if unknown until the end, and 0 if there is no body, whatever `Content-Length` says. */
  bodyBytes: number | null
}

export type TakeAnswer = {
  /** With status 100 the origin asks for the body. */
  interim(statusCode: number): void
  head(head: AnswerHead): void
  data(part: Buffer): void
  end(trailers: string[]): void
  upgrade(head: AnswerHead, rest: Buffer): void
}

// RFC 9112, section 4, plus what nginx accepts.
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n$/
const ODD_STATUS_LINE = /^HTTP\/\d\.\d +([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const FIRST_LOOK_BYTES = 2_048
const NOTHING = Buffer.alloc(0)

/**
 * Reads the HTTP/1.x responses of one connection (RFC 9112), one per `begin`. Accepts what nginx accepts, except
 * ambiguous framing. `test/odd-origins.long.test.ts` compares it with nginx, `packages/outbound/src/client/answer-reader.test.ts`
 * with Node's parser.
 */
export class AnswerReader {
  /** If false, the connection must be closed after this response. */
  isReusable = true
  /** The origin broke the standard, but unambiguously. */
  isOdd = false
  #take: TakeAnswer | null = null
  #method = ''
  #mayUpgrade = false
  #interims = 0
  #waiting: Buffer = NOTHING
  #end: BodyEnd | null = null
  #leftBytes = 0
  #chunks: ChunkReader | null = null

  begin(method: string, take: TakeAnswer, mayUpgrade = false): void {
    this.#method = method
    this.#mayUpgrade = mayUpgrade
    this.#take = take
    this.#interims = 0
  }

  /** Throws BadAnswer. */
  push(bytes: Buffer): void {
    let part = bytes
    while (part.length > 0) {
      if (this.#take === null) {
        this.isReusable = false
        return
      }
      part = this.#end === null ? this.#head(part) : this.#body(part)
    }
  }

  /** Call when the origin ends the connection. Throws BadAnswer in the middle of a response. */
  finish(): void {
    this.isReusable = false
    if (this.#take === null) return
    if (this.#end !== 'connection') throw new BadAnswer('The origin closed before the end of its answer')
    this.#done([])
  }

  #head(part: Buffer): Buffer {
    const bytes = this.#waiting.length === 0 ? part : Buffer.concat([this.#waiting, part])
    // Most heads fit into these bytes, and searching text is faster.
    const begin = bytes.toString('latin1', 0, FIRST_LOOK_BYTES)
    const [text, end, rest] = endOf(begin, bytes)
    if (end > ANSWER_HEAD_BYTES || (end === -1 && bytes.length > ANSWER_HEAD_BYTES)) {
      throw new HeadTooLarge('The head of the answer is too large')
    }
    if (end === -1) {
      // Fail early: a server that does not speak HTTP may send data for ever.
      if (!text.startsWith('HTTP/'.slice(0, text.length))) throw new BadAnswer('The answer is no HTTP')
      this.#waiting = bytes
      return NOTHING
    }
    this.#waiting = NOTHING
    // The empty line ends with LF only.
    if (text[end] === '\n') this.#noteOdd()
    const head = this.#parse(text.slice(0, end))
    if (head.statusCode === 101 && this.#mayUpgrade) {
      const take = this.#take!
      this.#take = null
      take.upgrade(head, rest)
      return NOTHING
    }
    if (head.statusCode < 200) this.#interim(head)
    else this.#final(head)
    return rest
  }

  #parse(text: string): AnswerHead {
    const first = text.indexOf('\n') + 1
    const status = STATUS_LINE.exec(text.slice(0, first))
    const rawHeaders = headerLines(text.slice(first))
    if (status === null || rawHeaders === null) {
      this.#noteOdd()
      return parseOddHead(text)
    }
    return {
      httpVersion: status[1] === '1' ? '1.1' : '1.0',
      statusCode: Number(status[2]),
      statusMessage: status[3] ?? '',
      rawHeaders,
      bodyBytes: null,
    }
  }

  #noteOdd(): void {
    this.isOdd = true
    this.isReusable = false
  }

  #interim({ statusCode }: AnswerHead): void {
    this.#interims += 1
    if (statusCode === 101) throw new BadAnswer('The origin changes to a protocol that was not requested')
    if (this.#interims > INTERIM_ANSWERS) throw new BadAnswer('Too many interim answers')
    this.#take!.interim(statusCode)
  }

  #final(head: AnswerHead): void {
    const framing = bodyEndOf(head, this.#method)
    if (typeof framing === 'string') throw new BadAnswer(framing)
    if (framing.isOdd) this.#noteOdd()
    if (!framing.keeps) this.isReusable = false
    this.#end = framing.end
    head.bodyBytes = framing.end === 'length' ? framing.bytes : null
    this.#leftBytes = framing.bytes
    if (framing.end === 'chunks') this.#chunks = new ChunkReader()
    this.#take!.head(head)
    if (framing.end === 'length' && framing.bytes === 0) this.#done([])
  }

  #body(part: Buffer): Buffer {
    const take = this.#take!
    if (this.#end === 'connection') {
      take.data(part)
      return NOTHING
    }
    if (this.#chunks !== null) {
      const trailers = this.#chunks.push(part, take)
      if (this.#chunks.isOdd) this.#noteOdd()
      if (typeof trailers === 'string') throw new BadAnswer(trailers)
      if (trailers === null) return NOTHING
      this.#done(trailers.flat)
      return trailers.rest
    }
    const own = part.length > this.#leftBytes ? part.subarray(0, this.#leftBytes) : part
    this.#leftBytes -= own.length
    take.data(own)
    if (this.#leftBytes === 0) this.#done([])
    return part.subarray(own.length)
  }

  #done(trailers: string[]): void {
    const take = this.#take!
    this.#take = null
    this.#end = null
    this.#chunks = null
    take.end(trailers)
  }
}

/** Returns the bytes as Latin-1, the length of the head's lines (-1 if incomplete), and the bytes behind it. */
function endOf(begin: string, bytes: Buffer): [text: string, end: number, rest: Buffer] {
  let text = begin
  let end = blankLine(text)
  if (end === -1 && bytes.length > FIRST_LOOK_BYTES) {
    text = bytes.toString('latin1', 0, ANSWER_HEAD_BYTES + 4)
    end = blankLine(text)
  }
  if (end === -1) return [text, -1, NOTHING]
  return [text, end, bytes.subarray(end + (text[end] === '\r' ? 2 : 1))]
}

/** Returns where the head's first blank line begins, or -1 if there is none. */
function blankLine(text: string): number {
  const crlf = text.indexOf('\n\r\n')
  const lf = text.indexOf('\n\n')
  if (lf === -1 && crlf === -1) return -1
  const isCrlfFirst = lf === -1 || (crlf !== -1 && crlf < lf)
  return (isCrlfFirst ? crlf : lf) + 1
}

// Header names that nginx accepts: no space or colon. Values may contain control characters.
const ODD_LINE = /^([^\s:\0]+)(?::([^\0\r]*))?$/
const SENDABLE_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const SENDABLE_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const FRAMING = /^(?:content-length|transfer-encoding|connection)$/i

/** Accepts what nginx tolerates. Drops headers that cannot be passed on, except those that delimit the body. */
function parseOddHead(text: string): AnswerHead {
  const [first = '', ...lines] = text.split(/\r?\n/).slice(0, -1)
  const status = ODD_STATUS_LINE.exec(first)
  if (status === null) throw new BadAnswer('The head of the answer is malformed')
  const rawHeaders: string[] = []
  for (const line of lines) {
    const [, name, value] = ODD_LINE.exec(line) ?? []
    if (name === undefined) throw new BadAnswer('The head of the answer is malformed')
    if (value !== undefined && SENDABLE_NAME.test(name) && SENDABLE_VALUE.test(value)) {
      rawHeaders.push(name, value.replace(/^[\t ]+|[\t ]+$/g, ''))
    } else if (FRAMING.test(name)) throw new BadAnswer('The head of the answer is malformed')
  }
  const httpVersion = first.startsWith('HTTP/1.0') ? '1.0' : '1.1'
  const [, statusCode, statusMessage = ''] = status
  return { httpVersion, statusCode: Number(statusCode), statusMessage, rawHeaders, bodyBytes: null }
}

type BodyEnd = 'length' | 'chunks' | 'connection'

type Framing = {
  end: BodyEnd
  bytes: number
  keeps: boolean
  isOdd: boolean
}

const LENGTH = /^\d{1,15}$/

/** Body framing (RFC 9112, section 6.3), or an error text. Leaves at most one length in the headers. */
function bodyEndOf(head: AnswerHead, method: string): Framing | string {
  const { statusCode, httpVersion, rawHeaders } = head
  let length: string | null = null
  let coding: string | null = null
  let connection = ''
  let isOdd = false
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    // Fast check: these three header names have different lengths, which few other names have.
    if (name.length !== 14 && name.length !== 17 && name.length !== 10) continue
    const lower = name.toLowerCase()
    const value = rawHeaders[at + 1]!
    if (lower === 'content-length') {
      if (length !== null || value.includes(',')) isOdd = true
      length = length === null ? value : `${length},${value}`
    } else if (lower === 'transfer-encoding') coding = coding === null ? value : `${coding},${value}`
    else if (lower === 'connection') connection += `${value},`
  }
  if (isOdd) length = oneLength(length!)
  if (length !== null && !LENGTH.test(length))
    return 'The length of the answer is no number, or there are two'
  let isChunked = false
  if (coding !== null) {
    isChunked = coding.toLowerCase() === 'chunked'
    if (!isChunked || length !== null || httpVersion === '1.0') isOdd = true
    if (!isChunked) {
      const codings = coding
        .toLowerCase()
        .split(/[\s,]+/)
        .filter((one) => one !== '' && one !== 'identity')
      isChunked = codings.at(-1) === 'chunked'
      if (codings.length > 0 && !isChunked) return 'The answer has an unknown coding'
    }
    if (isChunked) length = null
  }
  if (isOdd) head.rawHeaders = withLength(rawHeaders, length)

  const options = connection === '' ? [] : connection.toLowerCase().split(/[\s,]+/)
  const keeps =
    !isOdd && (httpVersion === '1.1' ? !options.includes('close') : options.includes('keep-alive'))
  if (statusCode === 204) {
    // No body is allowed, but the origin may send one that the head announces (section 6.3, rule 1).
    return { end: 'length', bytes: 0, keeps: keeps && coding === null && (length ?? '0') === '0', isOdd }
  }
  if (method === 'HEAD' || statusCode === 304) return { end: 'length', bytes: 0, keeps, isOdd }
  if (isChunked) return { end: 'chunks', bytes: 0, keeps, isOdd }
  if (length !== null) return { end: 'length', bytes: Number(length), keeps, isOdd }
  return { end: 'connection', bytes: 0, keeps: false, isOdd }
}

/** Repeated equal lengths count as one (RFC 9110, section 8.6). Otherwise returns the input. */
function oneLength(lengths: string): string {
  const all = new Set(lengths.split(',').map((one) => one.trim()))
  return all.size === 1 ? [...all][0]! : lengths
}

function withLength(raw: readonly string[], length: string | null): string[] {
  const kept = raw.filter((_text, at) => raw[at - (at % 2)]!.toLowerCase() !== 'content-length')
  return length === null ? kept : [...kept, 'Content-Length', length]
}
