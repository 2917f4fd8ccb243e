// A site of Fastify whose crawlers get finished pages: see docs/integrations/fastify.md.
//
//   npm install fastify @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com node fastify.mjs

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { prepaint } from '@prepaint/middleware/fastify'
import fastify from 'fastify'

const { PREPAINT_URL, PREPAINT_KEY, SITE, PORT = '8000', WAIT_MS = '15000', SITE_DIR = 'dist' } = process.env

const app = fastify()
// Before all routes and other plugins.
app.register(prepaint({ service: PREPAINT_URL, key: PREPAINT_KEY, site: SITE, waitMs: Number(WAIT_MS) }))
app.post('/*', (request, reply) => reply.send(`Received: ${request.body}`))
const index = readFileSync(path.join(SITE_DIR, 'index.html'))
app.get('/*', (_request, reply) => reply.type('text/html; charset=utf-8').send(index))

await app.listen({ port: Number(PORT), host: '127.0.0.1' })
console.log(JSON.stringify({ event: 'ready', port: app.server.address().port }))
