import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../support/loopback.ts'
import type { App } from './app.ts'

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

/**
 * Serves one application on loopback, its files byte for byte as its package holds them. `missing` collects the paths
 * it had no answer for: an application that renders only half because a file was forgotten here must be seen.
 */
export async function startAppOrigin(app: App): Promise<{
  url: string
  missing: string[]
  /** Serves one document more. */
  add(path: string, document: Buffer): void
  close(): Promise<void>
}> {
  const missing: string[] = []
  const readInside = createFolderReader()
  const added = new Map<string, Buffer>()
  const prefixes = Object.keys(app.folders).sort((a, b) => b.length - a.length)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pathname = decodeURIComponent(new URL(request.url ?? '/', 'http://origin').pathname)
    const document = added.get(pathname)
    if (document !== undefined) {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(document)
      return
    }
    const own = app.answers[pathname]
    if (own !== undefined) {
      if (own.delayMs !== undefined) await delay(own.delayMs)
      response.writeHead(200, { 'content-type': own.type }).end(own.body)
      return
    }
    const prefix = prefixes.find((candidate) => pathname.startsWith(candidate))
    const file = prefix === undefined ? null : await readInside(app.folders[prefix]!, pathname, prefix)
    if (file !== null) {
      const type = TYPES[path.extname(pathname)] ?? 'application/octet-stream'
      const { etag, body } = file
      const headers = { 'content-type': type, etag, 'cache-control': 'public, max-age=0' }
      if (request.headers['if-none-match'] === etag) response.writeHead(304, headers).end()
      else response.writeHead(200, headers).end(body)
      return
    }
    const fallback = app.fallback === undefined ? undefined : app.answers[app.fallback]
    if (fallback !== undefined && path.extname(pathname) === '') {
      response.writeHead(200, { 'content-type': fallback.type }).end(fallback.body)
      return
    }
    missing.push(pathname)
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found')
  }

  const { url, close } = await serve((request, response) => {
    for (const [name, value] of Object.entries(app.headers ?? {})) response.setHeader(name, value)
    answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  return { url, missing, add: (pathname, document) => void added.set(pathname, document), close }
}

/** As every server of files gives them: a browser may keep what it has, and asks whether it is still that. */
type File = { body: Buffer; etag: string }

/** Read once: what an origin computes is not to be on the machine of those who are measured. */
function createFolderReader(): (dir: string, pathname: string, prefix: string) => Promise<File | null> {
  const known = new Map<string, File>()
  return async (dir, pathname, prefix) => {
    const at = path.join(dir, path.normalize(`/${pathname.slice(prefix.length)}`))
    const before = known.get(at)
    if (before !== undefined) return before
    const body = await readFile(at).catch(() => null)
    if (body === null) return null
    const file = { body, etag: `"${createHash('sha1').update(body).digest('base64url')}"` }
    known.set(at, file)
    return file
  }
}
