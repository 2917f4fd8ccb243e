// A site of Express whose crawlers get finished pages: see docs/integrations/express.md.
//
//   npm install express @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com node express.mjs

import { text } from 'node:stream/consumers'
import { prepaint } from '@prepaint/middleware/express'
import express from 'express'

const { PREPAINT_URL, PREPAINT_KEY, SITE, PORT = '8000', WAIT_MS = '15000', SITE_DIR = 'dist' } = process.env

const app = express()
// First of all: before sessions, logs, static files.
app.use(prepaint({ service: PREPAINT_URL, key: PREPAINT_KEY, site: SITE, waitMs: Number(WAIT_MS) }))
app.use(express.static(SITE_DIR, { index: false }))
// No path: what stands for all of them differs between Express 4 and 5.
app.use(async (req, res) => {
  if (req.method === 'POST') res.send(`Received: ${await text(req)}`)
  else res.sendFile('index.html', { root: SITE_DIR })
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(JSON.stringify({ event: 'ready', port: server.address().port }))
})
