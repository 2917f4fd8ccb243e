import { Transform, type TransformCallback } from 'node:stream'

/** A close frame from a server that goes away: 1001 (RFC 6455, sections 5.5.1 and 7.4.1). */
const GOING_AWAY = Buffer.from([0x88, 2, 1001 >> 8, 1001 & 0xff])

/** The longest head of a frame: two bytes, eight of length, four of a mask. */
const HEAD_BYTES = 14

/**
 * What an origin sends on a WebSocket, unchanged, until `leave`: behind the frame
 * that is under way then, the client is told that we go, and nothing more comes.
 */
export class WebSocketGoodbye extends Transform {
  /** Of the frame that is under way, so many bytes are to come; 0: its head is. */
  #left = 0
  #head = Buffer.alloc(0)
  #leaving = false
  #gone = false

  leave(): void {
    this.#leaving = true
    if (this.#left === 0 && this.#head.length === 0) this.#goodbye()
  }

  override _transform(part: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    // Nobody hears it any more.
    if (this.#gone) return void done()
    for (let at = 0; at < part.length; ) {
      at += this.#left > 0 ? this.#payload(part.length - at) : this.#readHead(part, at)
      if (this.#leaving && this.#left === 0 && this.#head.length === 0) {
        this.push(part.subarray(0, at))
        this.#goodbye()
        return void done()
      }
    }
    done(null, part)
  }

  #goodbye(): void {
    if (this.#gone || this.destroyed || this.writableEnded) return
    this.#gone = true
    this.push(GOING_AWAY)
    this.push(null)
  }

  #payload(bytes: number): number {
    const taken = Math.min(bytes, this.#left)
    this.#left -= taken
    return taken
  }

  /** Takes what there is of a head, at most all of it; heads come in pieces too. */
  #readHead(part: Buffer, at: number): number {
    const before = this.#head.length
    const head = Buffer.concat([this.#head, part.subarray(at, at + HEAD_BYTES - before)])
    const length = headLength(head)
    if (length === null || head.length < length) {
      this.#head = head
      return head.length - before
    }
    this.#head = Buffer.alloc(0)
    this.#left = payloadLength(head)
    return length - before
  }
}

function headLength(head: Buffer): number | null {
  if (head.length < 2) return null
  const short = head[1]! & 0x7f
  const mask = (head[1]! & 0x80) === 0 ? 0 : 4
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + mask
}

function payloadLength(head: Buffer): number {
  const short = head[1]! & 0x7f
  if (short === 126) return head.readUInt16BE(2)
  return short === 127 ? Number(head.readBigUInt64BE(2)) : short
}
