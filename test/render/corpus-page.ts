import { createHash } from 'node:crypto'
import type http from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { RenderOutcomeKind } from '@prepaint/contract/outcome/outcome.ts'
import { type Answer, taggable } from '../support/renderer.ts'

/** A page that is hard to render. It lives in a folder of its own, and names its parts by relative addresses. */
export type CorpusPage = {
  /** What a renderer gets wrong here, where the name does not say it. */
  why?: string
  /** Not there when the page is rendered at another address. */
  document?: Answer
  /** By path below the folder. */
  parts?: Readonly<Record<string, Answer>>
  /** Rendered at this address below the folder; `''` when left out. */
  at?: string
  /** WebSockets, by path below the folder. */
  sockets?: Readonly<Record<string, Speak>>
  /** Rendered so often, on a domain of its own; each time has to come out alike. */
  visits?: number
  /** The page shows something that we do not capture: docs/rendering.md names it. */
  limit?: true
  expect: Expectation
}

export type Expectation = {
  /** `rendered` when left out. */
  outcome?: RenderOutcomeKind
  /** In the text that a crawler without scripts reads. */
  reads?: readonly string[]
  readsNot?: readonly string[]
  /** In the markup. */
  has?: readonly (string | RegExp)[]
  hasNot?: readonly (string | RegExp)[]
}

export type Theme = Readonly<Record<string, CorpusPage>>

/** What a server says on a WebSocket: once at its opening (`heard` is null), and to each text it gets. */
type Speak = (heard: string | null, say: (text: string) => void) => void

export function folderOf(name: string): string {
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return `/${slug.replace(/^-|-$/g, '')}/`
}

/** Puts pages and their sockets into a site. */
export function placePages(
  pages: readonly [string, CorpusPage][],
  routes: Map<string, Answer>,
  origin: http.Server,
): void {
  const speakers = new Map<string, Speak>()
  for (const [name, { document, parts, sockets }] of pages) {
    const folder = folderOf(name)
    if (document !== undefined) routes.set(folder, document)
    for (const [path, answer] of Object.entries(parts ?? {})) routes.set(folder + path, answer)
    for (const [path, speak] of Object.entries(sockets ?? {})) speakers.set(folder + path, speak)
  }
  origin.on('upgrade', (request, socket) => {
    const speak = speakers.get(request.url ?? '')
    if (speak === undefined) socket.destroy()
    else speakWebSocket(request, socket, speak)
  })
}

/** Accepts an upgrade (RFC 6455) and speaks short texts, of at most 125 bytes each way. */
function speakWebSocket(request: http.IncomingMessage, socket: Duplex, speak: Speak): void {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
  socket.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
  const say = (text: string) => {
    if (socket.writable) socket.write(Buffer.from([0x81, Buffer.byteLength(text), ...Buffer.from(text)]))
  }
  socket.on('error', () => {})
  // A server's sockets stay open on our side when the other end has gone.
  socket.on('end', () => socket.end())
  socket.on('data', (frame: Buffer) => {
    if (frame[0] !== 0x81) return
    const length = (frame[1] ?? 0) & 0x7f
    const mask = frame.subarray(2, 6)
    const text = frame.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0))
    speak(Buffer.from(text).toString(), say)
  })
  speak(null, say)
}

/** HTML, unless the headers say otherwise. */
export function answer(body: string | Buffer, headers: http.OutgoingHttpHeaders): Answer {
  return (_request, response) =>
    void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body)
}

export const page = taggable(
  (body, head = '') =>
    `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>t</title>${head}</head><body>${body}</body></html>`,
)

/** Answered after `ms` of real time. */
export const json = (value: unknown, ms = 30) => file('application/json', JSON.stringify(value), ms)
export const script = taggable((text, ms: number = 0) => file('text/javascript', text, ms))
export const css = (text: string, ms = 0) => file('text/css', text, ms)

function file(type: string, text: string, ms: number): Answer {
  return async (_request, response) => {
    if (ms > 0) await delay(ms)
    response.writeHead(200, { 'content-type': type }).end(text)
  }
}

export function status(code: number): Answer {
  return (_request, response) => void response.writeHead(code).end()
}

export const never: Answer = () => {}

/** An answer that comes in parts, each `gapMs` of real time after the one before. */
export function inParts(
  parts: readonly string[],
  gapMs: number,
  then: 'end' | 'open' = 'end',
  type = 'text/html; charset=utf-8',
): Answer {
  return async (_request, response) => {
    response.writeHead(200, { 'content-type': type })
    for (const part of parts) {
      response.write(part)
      await delay(gapMs)
    }
    if (then === 'end') response.end()
  }
}
