// A site of Hono whose crawlers get finished pages: see docs/integrations/hono.md.
//
//   npm install hono @hono/node-server @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com node hono.mjs

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { serve } from '@hono/node-server'
import { prepaint } from '@prepaint/middleware/hono'
import { Hono } from 'hono'

const { PREPAINT_URL, PREPAINT_KEY, SITE, PORT = '8000', WAIT_MS = '15000', SITE_DIR = 'dist' } = process.env

const app = new Hono()
// Before all routes.
app.use(prepaint({ service: PREPAINT_URL, key: PREPAINT_KEY, site: SITE, waitMs: Number(WAIT_MS) }))

const index = readFileSync(path.join(SITE_DIR, 'index.html'), 'utf8')
app.post('*', async (c) => c.text(`Received: ${await c.req.text()}`))
app.get('*', (c) => c.html(index))

serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, ({ port }) => {
  console.log(JSON.stringify({ event: 'ready', port }))
})
