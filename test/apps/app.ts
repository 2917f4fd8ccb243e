import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../support/loopback.ts'

/** A client-rendered application published on npm by others. */
export type App = {
  /** Also the first label of its domain: lower case, no dots. */
  name: string
  framework: string
  /** URL prefix (ends with `/`) to the folder that is served under it; the longest prefix wins. */
  folders: Readonly<Record<string, string>>
  /** What the site's owner adds: documents, settings, data. By path, before the folders. */
  answers: Readonly<Record<string, Answer>>
  headers?: Readonly<Record<string, string>>
  /** Gets every path that is neither an answer nor a file, as hosting of single-page sites does. */
  fallback?: string
  pages: readonly AppPage[]
}

export type Answer = { type: string; body: string; delayMs?: number }

export type AppPage = {
  path: string
  /** Words a person reads there, none of which is in the document that the origin sends. */
  texts: readonly string[]
}

export function packageDir(name: string, folder = ''): string {
  return path.resolve(import.meta.dirname, '..', '..', 'node_modules', name, folder)
}

export function html(body: string): Answer {
  return { type: 'text/html; charset=utf-8', body }
}

/** Data arrives after `delayMs`, so a snapshot at the load event misses it. */
export function json(value: unknown, delayMs = 30): Answer {
  return { type: 'application/json', body: JSON.stringify(value), delayMs }
}

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.mjs': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
}

/** Serves one application on loopback, its files byte for byte as its package holds them. */
export async function startAppOrigin(app: App) {
  const prefixes = Object.keys(app.folders).sort((a, b) => b.length - a.length)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pathname = decodeURIComponent(new URL(request.url ?? '/', 'http://origin').pathname)
    const send = (type: string, body: string | Buffer) =>
      void response.writeHead(200, { 'content-type': type }).end(body)
    const own = app.answers[pathname]
    if (own !== undefined) {
      if (own.delayMs !== undefined) await delay(own.delayMs)
      return send(own.type, own.body)
    }
    const prefix = prefixes.find((candidate) => pathname.startsWith(candidate))
    const inside = path.normalize(`/${pathname.slice(prefix?.length)}`)
    const file = prefix === undefined ? null : await readOnce(path.join(app.folders[prefix]!, inside))
    if (file !== null) {
      const { etag, body } = file
      // As every server of files: a browser may keep what it has, and asks whether it is still that.
      response.setHeader('etag', etag).setHeader('cache-control', 'public, max-age=0')
      if (request.headers['if-none-match'] === etag) return void response.writeHead(304).end()
      return send(TYPES[path.extname(pathname)] ?? 'application/octet-stream', body)
    }
    const fallback = app.fallback === undefined ? undefined : app.answers[app.fallback]
    if (fallback !== undefined && path.extname(pathname) === '') return send(fallback.type, fallback.body)
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found')
  }

  return serve((request, response) => {
    for (const [name, value] of Object.entries(app.headers ?? {})) response.setHeader(name, value)
    answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
}

/** What an origin computes is not to be on the machine of those who are measured. */
const known = new Map<string, { body: Buffer; etag: string }>()

async function readOnce(file: string) {
  const before = known.get(file)
  if (before !== undefined) return before
  const body = await readFile(file).catch(() => null)
  if (body === null) return null
  const read = { body, etag: `"${createHash('sha1').update(body).digest('base64url')}"` }
  known.set(file, read)
  return read
}
