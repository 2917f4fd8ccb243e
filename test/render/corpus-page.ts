import type http from 'node:http'
import type { RenderOutcomeKind } from '../../src/render/outcome.ts'
import { type Answer, taggable } from '../support/renderer.ts'
import { type Speak, speakWebSocket } from './web-socket.ts'

/**
 * A page that is hard to render, and what has to come of it. It lives in a folder of its own, `/<slug of the name>/`, so it
 * names its parts by relative addresses: `data.json`.
 */
export type CorpusPage = {
  /** What a renderer gets wrong here, in one line. */
  why: string
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
  /** Words that a crawler without scripts reads. */
  reads?: readonly string[]
  readsNot?: readonly string[]
  /** Found in the markup. */
  has?: readonly (string | RegExp)[]
  hasNot?: readonly (string | RegExp)[]
}

/** Pages about one subject, by name. */
export type Theme = Readonly<Record<string, CorpusPage>>

/** The folder of a page in the site that `placePages` makes. */
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

/** An answer as its author wrote it, without a line of ours. */
export function html(
  text: string | Buffer,
  { type = 'text/html; charset=utf-8', status = 200, headers = {} as http.OutgoingHttpHeaders },
): Answer {
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': type, ...headers }).end(text)
}

/** A document with this body and head. */
export const page = taggable(
  (body, head = '') =>
    `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>t</title>${head}</head><body>${body}</body></html>`,
)

/** Answered after `ms` of real time. */
export const json = (value: unknown, ms = 30) => file('application/json', JSON.stringify(value), ms)
export const script = taggable((text, ms: number = 0) => file('text/javascript', text, ms))
export const css = (text: string, ms = 0) => file('text/css', text, ms)

function file(type: string, text: string, ms: number): Answer {
  return (_request, response) => {
    const answer = () => response.writeHead(200, { 'content-type': type }).end(text)
    if (ms === 0) answer()
    else setTimeout(answer, ms)
  }
}

/** Only a status, with headers. */
export function status(code: number, headers: http.OutgoingHttpHeaders = {}): Answer {
  return (_request, response) => void response.writeHead(code, headers).end()
}

/** Asked, and never answered. */
export const never: Answer = () => {}

/** The connection is cut instead of an answer. */
export const cutOff: Answer = (_request, response) => void response.destroy()

/**
 * An answer that comes in parts, each `gapMs` of real time after the one before.
 * Afterwards it ends, stays open for ever, or breaks.
 */
export function inParts(
  type: string,
  parts: readonly string[],
  gapMs: number,
  then: 'end' | 'open' | 'break' = 'end',
): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': type })
    const send = (at: number) => {
      const part = parts[at]
      if (part !== undefined) {
        response.write(part)
        setTimeout(() => send(at + 1), gapMs)
      } else if (then === 'end') response.end()
      else if (then === 'break') response.destroy()
    }
    send(0)
  }
}
