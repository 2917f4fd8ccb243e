/** The process of both sites' origin. It tells its port. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

const LARGE = Buffer.alloc(5 * 1024 * 1024, 'x')
const SLOW_MS = 3_000

const server = http.createServer((req, res) => {
  const url = req.url ?? '/'
  // Its body is never read.
  if (url === '/unread') return
  if (url === '/large') res.end(LARGE)
  else if (url.startsWith('/slow')) setTimeout(() => res.end(page(url)), SLOW_MS)
  else {
    res.setHeader('content-type', 'text/html')
    res.end(page(url))
  }
})
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))

function page(url: string): string {
  return `<!doctype html><title>${url}</title><h1>${url}</h1><p>${'A page with some words. '.repeat(50)}</p>`
}
