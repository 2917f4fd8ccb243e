import { headerLines } from './call.ts'
import { ChunkReader } from './chunk-reader.ts'

/** Status line and headers of a response; more is refused. */
export const ANSWER_HEAD_BYTES = 64 * 1024
/** Interim answers before the final one. */
export const INTERIM_ANSWERS = 20

/** An answer is no HTTP/1.1, or could be read in two ways. What was read of it is worth nothing, nor is its connection. */
export class BadAnswer extends Error {
  override name = 'BadAnswer'
}

/** More than `ANSWER_HEAD_BYTES`. */
export class HeadTooLarge extends BadAnswer {}

export type AnswerHead = {
  httpVersion: '1.0' | '1.1'
  statusCode: number
  statusMessage: string
  /** Flat, as they were sent; values without the white space around them. */
  rawHeaders: string[]
  /** Of the body; null: nobody knows before its end. 0 for what has none, whatever its `Content-Length` says. */
  bodyBytes: number | null
}

/** What becomes of an answer's parts, in their order. */
export type TakeAnswer = {
  /** 100: the origin wants the body that it was asked about. */
  interim(statusCode: number): void
  head(head: AnswerHead): void
  data(part: Buffer): void
  /** `trailers`: flat. */
  end(trailers: string[]): void
  /** 101, where it was asked for: the connection speaks another protocol from here, beginning with `rest`. */
  upgrade(head: AnswerHead, rest: Buffer): void
}

// RFC 9112, section 4, and what nginx takes for a status line besides.
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n$/
const ODD_STATUS_LINE = /^HTTP\/\d\.\d +([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/
const FIRST_LOOK_BYTES = 2_048
const NOTHING = Buffer.alloc(0)

/**
 * Reads the responses that come on one connection of HTTP/1.x (RFC 9112), one for each `begin`. Takes what nginx takes
 * of odd origins, but for what could be read in two ways; a connection that said anything odd is not used again.
 * `test/odd-origins.test.ts` compares it with nginx, `src/outbound/client/answer-reader.test.ts` with node's parser.
 */
export class AnswerReader {
  /** The connection may carry another request. */
  isReusable = true
  /** Something was not as the standard says, but clear. */
  isOdd = false
  #take: TakeAnswer | null = null
  #method = ''
  #mayUpgrade = false
  #interims = 0
  #waiting: Buffer = NOTHING
  #end: BodyEnd | null = null
  #leftBytes = 0
  #chunks: ChunkReader | null = null

  /** The answer to a request by this method comes next. */
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
      // Nobody asked for it.
      if (this.#take === null) {
        this.isReusable = false
        return
      }
      part = this.#end === null ? this.#head(part) : this.#body(part)
    }
  }

  /** The origin has ended the connection. Throws BadAnswer in the middle of an answer. */
  finish(): void {
    this.isReusable = false
    if (this.#take === null) return
    if (this.#end !== 'connection') throw new BadAnswer('The origin closed before the end of its answer')
    this.#done([])
  }

  #head(part: Buffer): Buffer {
    const bytes = this.#waiting.length === 0 ? part : Buffer.concat([this.#waiting, part])
    // Nearly all are in what comes first, and searched faster as text.
    const begin = bytes.toString('latin1', 0, FIRST_LOOK_BYTES)
    const [text, end, rest] = endOf(begin, bytes)
    if (end > ANSWER_HEAD_BYTES || (end === -1 && bytes.length > ANSWER_HEAD_BYTES)) {
      throw new HeadTooLarge('The head of the answer is too large')
    }
    if (end === -1) {
      // Before its end comes: what does not speak HTTP at all may go on for ever.
      if (!text.startsWith('HTTP/'.slice(0, text.length))) throw new BadAnswer('The answer is no HTTP')
      this.#waiting = bytes
      return NOTHING
    }
    this.#waiting = NOTHING
    // An empty line that ends with LF alone.
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

  /** `text`: Latin-1, whole lines. */
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
    if (statusCode === 101) throw new BadAnswer('The origin changes to a protocol that nobody asked for')
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

/** What has come as Latin-1, how much of it are the lines of the head (-1: it is not all there), and what stands behind. */
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

/** Where the first empty line begins, whether lines end with CRLF or with LF alone. */
function blankLine(text: string): number {
  const crlf = text.indexOf('\n\r\n')
  const lf = text.indexOf('\n\n')
  return lf === -1 || (crlf !== -1 && crlf < lf) ? (crlf === -1 ? -1 : crlf + 1) : lf + 1
}

// A name as nginx takes it: no space, no colon. Other control characters may stand in values.
const ODD_LINE = /^([^\s:\0]+)(?::([^\0\r]*))?$/
const SENDABLE_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const SENDABLE_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const FRAMING = /^(?:content-length|transfer-encoding|connection)$/i

/**
 * A head that breaks the rules in a way that nginx forgives: lines that end with LF alone, another version, lines that
 * are no header. Headers that cannot be sent on are dropped, but for those that say where the body ends.
 */
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

/** What says where a body ends. */
type BodyEnd = 'length' | 'chunks' | 'connection'

type Framing = {
  end: BodyEnd
  /** Of a body with a length. */
  bytes: number
  /** Another answer may follow on the connection. */
  keeps: boolean
  isOdd: boolean
}

const LENGTH = /^\d{1,15}$/

/**
 * How long the body of a final answer is (RFC 9112, section 6.3), or what is wrong with what it says about that. Leaves
 * in its headers one length at most, and none that does not count.
 */
function bodyEndOf(head: AnswerHead, method: string): Framing | string {
  const { statusCode, httpVersion, rawHeaders } = head
  let length: string | null = null
  let coding: string | null = null
  let connection = ''
  let isOdd = false
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    // The three names differ in their length, as nearly all others do from them.
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
    // It can have no body; who says that it has one may send it (section 6.3, rule 1, and RFC 9110, section 8.6).
    return { end: 'length', bytes: 0, keeps: keeps && coding === null && (length ?? '0') === '0', isOdd }
  }
  if (method === 'HEAD' || statusCode === 304) return { end: 'length', bytes: 0, keeps, isOdd }
  if (isChunked) return { end: 'chunks', bytes: 0, keeps, isOdd }
  if (length !== null) return { end: 'length', bytes: Number(length), keeps, isOdd }
  return { end: 'connection', bytes: 0, keeps: false, isOdd }
}

/** The same length said more than once is one (RFC 9110, section 8.6). Else what was said. */
function oneLength(lengths: string): string {
  const all = new Set(lengths.split(',').map((one) => one.trim()))
  return all.size === 1 ? [...all][0]! : lengths
}

function withLength(raw: readonly string[], length: string | null): string[] {
  const kept = raw.filter((_text, at) => raw[at - (at % 2)]!.toLowerCase() !== 'content-length')
  return length === null ? kept : [...kept, 'Content-Length', length]
}
