import type http from 'node:http'

import type { RenderOutcomeKind } from '../../src/render/outcome.ts'
import type { Answer } from '../support/renderer.ts'
import type { Speak } from './web-socket.ts'

/**
 * One page that is hard to render, and what has to come of it. Its routes live
 * in a folder of its own, `/<slug of the name>/`, so pages name their parts by
 * relative addresses: `data.json`.
 */
export type CorpusPage = {
  name: string
  /** What a renderer gets wrong here, in one line. */
  why: string
  /** By path below the folder; `''` is the page itself. */
  routes: Readonly<Record<string, Answer>>
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

export type Expectation =
  | {
      outcome?: 'rendered'
      /** 200 when left out. */
      status?: number
      headers?: Readonly<Record<string, string>>
      /** Words that a crawler without scripts reads. */
      reads?: readonly string[]
      readsNot?: readonly string[]
      /** Found in the markup. */
      has?: readonly (string | RegExp)[]
      hasNot?: readonly (string | RegExp)[]
    }
  /** `location`: absolute, or relative to the page's folder. */
  | { outcome: 'redirect'; status: number; location: string }
  | { outcome: 'origin-error'; status: number }
  | { outcome: Exclude<RenderOutcomeKind, 'rendered' | 'redirect' | 'origin-error'> }

/** Pages about one subject. `name` is also the first label of their domain. */
export type Theme = { name: string; pages: readonly CorpusPage[] }

export function slugOf(page: CorpusPage): string {
  return page.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

/** A document as its author wrote it, without a line of ours. */
export function html(
  text: string | Buffer,
  options: { type?: string; status?: number; headers?: http.OutgoingHttpHeaders } = {},
): Answer {
  return (_request, response) =>
    void response
      .writeHead(options.status ?? 200, {
        'content-type': options.type ?? 'text/html; charset=utf-8',
        ...options.headers,
      })
      .end(text)
}

/** A document with this body and head. */
export function page(body: string, head = ''): string {
  return `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>t</title>${head}</head><body>${body}</body></html>`
}

/** Answered after `ms` of real time. */
export function json(value: unknown, ms = 30): Answer {
  return file('application/json', JSON.stringify(value), ms)
}

export function script(text: string, ms = 0): Answer {
  return file('text/javascript', text, ms)
}

export function css(text: string, ms = 0): Answer {
  return file('text/css', text, ms)
}

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
