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

// RFC 9112, section 4.
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?\r\n$/
const BARE_LF = /(?<!\r)\n/
const HEAD_END = '\r\n\r\n'
const FIRST_LOOK_BYTES = 2_048
const NOTHING = Buffer.alloc(0)

/**
 * Reads the answers that come on one connection of HTTP/1.x (RFC 9112), one for
 * each `begin`. Stricter than the standard where it leaves a choice: what another
 * server could read in another way is no answer. `src/outbound/client/answer-reader.test.ts` compares it with node's parser.
 */
export class AnswerReader {
  /** The connection may carry another request. */
  isReusable = true
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
    const [text, end] = endOf(begin, bytes)
    if (end > ANSWER_HEAD_BYTES || (end === -1 && bytes.length > ANSWER_HEAD_BYTES)) {
      throw new HeadTooLarge('The head of the answer is too large')
    }
    if (end === -1) {
      // Before its end comes: who does not speak HTTP at all, or ends lines by LF alone, may go on for ever.
      if (!text.startsWith('HTTP/1.'.slice(0, text.length)) || BARE_LF.test(text))
        throw new BadAnswer('The answer is no HTTP')
      this.#waiting = bytes
      return NOTHING
    }
    this.#waiting = NOTHING
    const rest = bytes.subarray(end + HEAD_END.length)
    const head = parseHead(text.slice(0, end + 2))
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

  #interim({ statusCode }: AnswerHead): void {
    this.#interims += 1
    if (statusCode === 101) throw new BadAnswer('The origin changes to a protocol that nobody asked for')
    if (this.#interims > INTERIM_ANSWERS) throw new BadAnswer('Too many interim answers')
    this.#take!.interim(statusCode)
  }

  #final(head: AnswerHead): void {
    const framing = bodyEndOf(head, this.#method)
    if (typeof framing === 'string') throw new BadAnswer(framing)
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

/** The beginning of what has come, as Latin-1, and where in it the head ends; -1: not yet. */
function endOf(begin: string, bytes: Buffer): [text: string, end: number] {
  const end = begin.indexOf(HEAD_END)
  if (end !== -1 || bytes.length <= FIRST_LOOK_BYTES) return [begin, end]
  const more = bytes.toString('latin1', 0, ANSWER_HEAD_BYTES + HEAD_END.length)
  return [more, more.indexOf(HEAD_END)]
}

/** `text`: Latin-1, up to the line break of its last line. Throws BadAnswer. */
function parseHead(text: string): AnswerHead {
  const first = text.indexOf('\r\n') + 2
  const status = STATUS_LINE.exec(text.slice(0, first))
  const rawHeaders = headerLines(text.slice(first))
  if (status === null || rawHeaders === null) throw new BadAnswer('The head of the answer is malformed')
  return {
    httpVersion: status[1] === '1' ? '1.1' : '1.0',
    statusCode: Number(status[2]),
    statusMessage: status[3] ?? '',
    rawHeaders,
    bodyBytes: null,
  }
}

/** What says where a body ends. */
type BodyEnd = 'length' | 'chunks' | 'connection'

type Framing = {
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
function bodyEndOf(head: AnswerHead, method: string): Framing | string {
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
