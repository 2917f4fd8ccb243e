/** The pages of a folder by `node:http` alone, for `bench/edge.ts`. Prints its port; ends with its stdin. */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

const folder = process.argv[2]!
const bodies = new Map(['/8', '/60'].map((name) => [name, readFileSync(path.join(folder, name))]))
const server = http.createServer((req, res) => {
  const body = bodies.get(req.url!)!
  const headers = ['Content-Type', 'text/html; charset=utf-8', 'ETag', '"x"', 'X-Prepaint', 'hit']
  headers.push('Content-Length', `${body.length}`, 'Vary', 'Accept-Encoding')
  res.writeHead(200, headers)
  res.end(body)
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  console.log((server.address() as AddressInfo).port)
})
process.stdin.resume().once('end', () => process.exit())
