import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import tls from 'node:tls'
import { pageBody } from '@prepaint/pages/store/stored-page.ts'
import type pg from 'pg'
import { createTestCa } from '../support/certificate-authority.ts'
import { serve } from '../support/loopback.ts'
import type { NodeProcess } from '../support/node-process.ts'
import { callApi, registerDomain } from '../support/tenant.ts'

// The sites of `outage.long.test.ts`: their origin, and what their owners have set.

/** A name of the origin's own answer, which no node of ours gives. */
export const ORIGIN_ROBOTS = 'User-agent: *\nDisallow: /of-the-origin\n'
export const OWN_ROBOTS = 'User-agent: *\nDisallow: /of-the-owner\n'
const HEADER = { name: 'X-Origin', value: 'of-the-owner', for: 'all' }

export type SiteOrigin = Awaited<ReturnType<typeof startOrigin>>

/** Says how it was asked. It fails for renders of pages that shall stay old, and knows nothing at `/missing`. */
export async function startOrigin() {
  const streams = new Set<ServerResponse>()
  const origin = await serve((request, response) => {
    const { url = '/', method = 'GET', headers } = request
    if (url === '/robots.txt') return void response.end(ORIGIN_ROBOTS)
    if (url === '/stream') {
      streams.add(response)
      response.once('close', () => streams.delete(response))
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n')
    }
    if (url === '/upload') return void answerUpload(request, response)
    if (url === '/header') return void response.end(String(headers['x-origin']))
    if (/^\/(?:stale|kept)/.test(url) && /Prepaint\//.test(headers['user-agent'] ?? '')) {
      return void response.writeHead(503).end('busy')
    }
    const status = url.startsWith('/missing') ? 404 : 200
    response.writeHead(status, { 'content-type': 'text/html' })
    response.end(
      `<!doctype html><html lang="en"><title>Of the origin</title><h1>${method} ${url}</h1></html>`,
    )
  })
  origin.server.on('upgrade', (request, socket) => {
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
    socket.write(`${head}Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  return {
    ...origin,
    /** Says a word in all streams that are open. */
    say(word: string): void {
      for (const stream of streams) stream.write(`data: ${word}\n\n`)
    },
  }
}

async function answerUpload(request: http.IncomingMessage, response: ServerResponse): Promise<void> {
  response.end(digestOf(await buffer(request)))
}

export function digestOf(bytes: Buffer): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
}

const ca = createTestCa()

/** The domains that each way of being away has for itself, so that they are new to the node. */
export const COLD_KINDS = ['cold', 'secure', 'expired', 'append'] as const

/** Registers what owners may set, as their owners do. `plain` domains have the default settings. */
export async function registerSites(
  node: NodeProcess,
  key: string,
  originUrl: string,
  modes: readonly string[],
) {
  const add = (customDomain: string) => registerDomain(node, key, { customDomain, originUrl })
  const change = async (method: string, path: string, body: unknown) => {
    const { status, body: answer } = await callApi(node, key, { method, path, body })
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`)
    return answer
  }
  const set = (name: string, settings: object) => change('PUT', `/api/domains/${name}`, { settings })
  const certify = async (name: string) => {
    const { chain, key: privateKey } = ca.leaf({ names: [name] })
    const body = { certificate_chain: chain, private_key: privateKey }
    await change('PUT', `/api/domains/${name}/certificate`, body)
  }
  const rich = {
    categories: { 'ai-training': 'block' },
    rules: [
      { path: '/passed/*', action: 'pass' },
      { path: '/gone', action: 'gone' },
    ],
    robots: { mode: 'replace', text: OWN_ROBOTS },
    sitemap: 'generate',
    devices: 'both',
    cards: 'on',
    indexnow: true,
    origin_headers: [HEADER],
  }
  const append = { robots: { mode: 'append', text: 'User-agent: appended\nDisallow: /\n' } }
  for (const name of ['warm.example', ...modes.map((mode) => `cold.${mode}.example`)]) {
    await add(name)
    await set(name, rich)
    const redirects = [{ from: '/old', to: '/new', status: 301 }]
    await change('PUT', `/api/domains/${name}/redirects`, { redirects })
  }
  for (const name of ['append.example', ...modes.map((mode) => `append.${mode}.example`)]) {
    await add(name)
    await set(name, append)
  }
  for (const mode of modes) {
    for (const kind of ['secure', 'expired']) {
      await add(`${kind}.${mode}.example`)
      await certify(`${kind}.${mode}.example`)
    }
    await set(`secure.${mode}.example`, { https_redirect: true })
  }
}

/** Stores a page that no render has made, so that a node without a browser has pages, too. */
export async function storePage(
  pool: pg.Pool,
  { host, path, ageSeconds = 0 }: { host: string; path: string; ageSeconds?: number },
): Promise<void> {
  const text = `<!doctype html><html lang="en"><title>Stored</title><main><h1>Stored ${path}</h1><p>${'text '.repeat(200)}</p></main></html>`
  const { bodyBr, htmlBytes, etag } = await pageBody(text)
  await pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select id, $2, 200, '[]', $3, $4, $5, now() - $6 * interval '1 second' from domain where custom_domain = $1`,
    [host, path, bodyBr, htmlBytes, etag, ageSeconds],
  )
}

/** Adds domains with the default settings; no node is told. */
export async function insertPlainDomains(
  pool: pg.Pool,
  { account, originUrl, names }: { account: string; originUrl: string; names: readonly string[] },
): Promise<void> {
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url, is_active)
     select account.id, added.host, $2, true from account, unnest($3::text[]) as added (host) where email = $1`,
    [account, originUrl, names],
  )
}

/** What a client that connects by TLS under this name is given: the names of the certificate, or the error. */
export function handshake(edgeTls: string, servername: string): Promise<string> {
  const { port } = new URL(edgeTls)
  const socket = tls.connect({ host: '127.0.0.1', port: Number(port), servername, rejectUnauthorized: false })
  const named = once(socket, 'secureConnect').then(
    () => String(socket.getPeerCertificate().subject.CN),
    (error: NodeJS.ErrnoException) => String(error.code),
  )
  return named.finally(() => socket.destroy())
}

/** Opens a WebSocket through the edge. Resolves with what the origin echoes, or with the refusal. */
export async function echoByWebSocket(edge: string, host: string, words: string): Promise<string> {
  const request = http.request(`${edge}/socket`, {
    headers: {
      host,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  request.once('error', reject)
  request.once('response', (response) => {
    resolve(`${response.statusCode} ${response.headers['x-prepaint']}`)
    response.destroy()
  })
  request.once('upgrade', (response, socket) => {
    socket.once('data', (echoed) => {
      resolve(`${response.statusCode} ${response.headers['x-prepaint']}: ${echoed}`)
      socket.destroy()
    })
    socket.write(words)
  })
  request.end()
  return promise
}
