import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { buildShop } from './build.ts'
import { PRODUCTS, reviewsOf, stockOf } from './src/catalogue.ts'

export type Shop = { url: string; close(): Promise<void> }

type File = { body: Buffer; type: string; cacheControl: string }

/** Each call to the shop's API takes this long, as one to a real database behind a network would. */
const API_DELAY_MS = 30

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * The demo shop as an origin on 127.0.0.1: the built single-page application
 * (built first where needed) and its API. Port 0 takes a free one.
 */
export async function startShop(options: {
  port: number
  apiDelayMs?: number | undefined
  onLongStep?: (line: string) => void
}): Promise<Shop> {
  const files = readFiles(await buildShop(options.onLongStep))
  const server = http.createServer((req, res) => {
    answer(req, res, files, options.apiDelayMs ?? API_DELAY_MS).catch(() => res.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  req: http.IncomingMessage,
  res: http.ServerResponse,
  files: ReadonlyMap<string, File>,
  apiDelayMs: number,
): Promise<void> {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.writeHead(405, { allow: 'GET, HEAD' }).end()
    return
  }
  const url = URL.parse(req.url ?? '/', 'http://shop')
  if (url === null) {
    res.writeHead(400).end()
    return
  }
  if (url.pathname.startsWith('/api/')) {
    if (apiDelayMs > 0) await wait(apiDelayMs)
    const data = apiAnswer(url)
    res.writeHead(data === null ? 404 : 200, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
    })
    res.end(JSON.stringify(data ?? { error: 'Not found' }))
    return
  }
  if (url.pathname === '/robots.txt') {
    res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
    res.end(`User-agent: *\nDisallow: /cart\nSitemap: http://${req.headers.host}/sitemap.xml\n`)
    return
  }
  if (url.pathname === '/sitemap.xml') {
    res.writeHead(200, { 'content-type': 'application/xml' }).end(sitemap(`http://${req.headers.host}`))
    return
  }
  // Every other address is the application's own: it alone knows which ones exist.
  const file = files.get(url.pathname) ?? (isAsset(url.pathname) ? undefined : files.get('/index.html'))
  if (file === undefined) {
    res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n')
    return
  }
  res.writeHead(200, {
    'content-type': file.type,
    'content-length': file.body.length,
    'cache-control': file.cacheControl,
  })
  res.end(req.method === 'HEAD' ? undefined : file.body)
}

/** null: there is no such thing. */
function apiAnswer(url: URL): unknown {
  const [, , kind, slug, more] = url.pathname.split('/')
  if (kind === 'products' && slug === undefined) return PRODUCTS
  if (kind === 'stock' && slug === undefined) {
    const slugs = (url.searchParams.get('slugs') ?? '').split(',')
    return PRODUCTS.filter((product) => slugs.includes(product.slug)).map(({ slug }) => stockOf(slug))
  }
  const product = PRODUCTS.find((one) => one.slug === slug)
  if (kind !== 'products' || product === undefined) return null
  if (more === undefined) return product
  return more === 'more' ? { stock: stockOf(product.slug), reviews: reviewsOf(product.slug) } : null
}

function sitemap(base: string): string {
  const paths = ['/', '/about', ...PRODUCTS.map((product) => `/product/${product.slug}`)]
  const entries = paths.map((at) => `<url><loc>${base}${at}</loc></url>`)
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('')}</urlset>\n`
}

/** The whole build, by path. It is small, and a newer build may take its place on disk. */
function readFiles(dir: string): ReadonlyMap<string, File> {
  const entries = readdirSync(dir, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  return new Map(
    entries.map((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      const at = `/${path.relative(dir, file).split(path.sep).join('/')}`
      const cacheControl = isHashed(at) ? 'public, max-age=31536000, immutable' : 'no-cache'
      return [at, { body: readFileSync(file), type: typeOf(at), cacheControl }]
    }),
  )
}

function typeOf(at: string): string {
  return TYPES[path.extname(at)] ?? 'application/octet-stream'
}

function isAsset(at: string): boolean {
  return at.startsWith('/assets/') || path.extname(at) !== ''
}

/** Vite puts a hash of the content into the name of everything under /assets/. */
function isHashed(at: string): boolean {
  return at.startsWith('/assets/')
}
