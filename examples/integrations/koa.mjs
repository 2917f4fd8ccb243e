// A site of Koa whose crawlers get finished pages: see docs/integrations/koa.md.
//
//   npm install koa @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com node koa.mjs

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { prepaint } from '@prepaint/middleware/koa'
import Koa from 'koa'

const { PREPAINT_URL, PREPAINT_KEY, SITE, PORT = '8000', WAIT_MS = '15000', SITE_DIR = 'dist' } = process.env

const app = new Koa()
// First of all: before sessions, logs, static files.
app.use(prepaint({ service: PREPAINT_URL, key: PREPAINT_KEY, site: SITE, waitMs: Number(WAIT_MS) }))

const index = readFileSync(path.join(SITE_DIR, 'index.html'))
app.use(async (ctx) => {
  if (ctx.method === 'POST') {
    ctx.body = `Received: ${await text(ctx.req)}`
    return
  }
  ctx.type = 'html'
  ctx.body = index
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(JSON.stringify({ event: 'ready', port: server.address().port }))
})
