// A site of Express whose crawlers get finished pages, by the unmodified middleware `prerender-node`.
// What it is told beyond the address and the key makes it fail open: see docs/integrations/express.md.
//
//   npm install express prerender-node
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE_HOST=www.example.com node express-prerender-node.mjs

import { text } from 'node:stream/consumers'
import express from 'express'
import prerender from 'prerender-node'

const {
  PREPAINT_URL,
  PREPAINT_KEY,
  SITE_HOST,
  PORT = '8000',
  WAIT_MS = '15000',
  SITE_DIR = 'dist',
} = process.env

prerender
  .set('prerenderServiceUrl', PREPAINT_URL)
  .set('prerenderToken', PREPAINT_KEY)
  // The address that visitors know. Else it is whatever a client says in `Host` or `X-Forwarded-Host`.
  .set('protocol', 'https')
  .set('host', SITE_HOST)
  // By itself it waits for ever. Read anew for each request, hence the getter.
  .set('prerenderServerRequestOptions', {
    get signal() {
      return AbortSignal.timeout(Number(WAIT_MS))
    },
  })
  // By itself it hands errors on to crawlers: unreachable, a key that has ended, a domain that is not registered.
  // An answer without X-Prepaint is no page. Then the app answers, as it does people.
  .set('afterRender', (error, _req, answer) => ({
    cancelRender: Boolean(error) || answer.statusCode >= 500 || !answer.headers['x-prepaint'],
  }))

// By itself it knows few crawlers that came after 2020, and takes apps of Yandex and Tumblr, in which people are, for some.
prerender.crawlerUserAgents = prerender.crawlerUserAgents
  .filter((name) => name !== 'yandex' && name !== 'tumblr')
  .concat('yandexbot', 'yandeximages', 'yandexmobilebot', 'duckduckbot', 'petalbot', 'seznambot')
  .concat(
    'gptbot',
    'oai-searchbot',
    'chatgpt-user',
    'claudebot',
    'claude-user',
    'claude-searchbot',
    'perplexity',
  )
  .concat(
    'ccbot',
    'amazonbot',
    'bytespider',
    'meta-external',
    'mistralai-user',
    'duckassistbot',
    'googleother',
  )
  .concat('ahrefs', 'semrushbot', 'mj12bot', 'dotbot', 'screaming frog', 'archive.org_bot', 'mastodon/')

/** An answer that breaks off in the middle never comes back from the middleware: then the app answers as well. */
function within(waitMs, middleware) {
  return (req, res, next) => {
    let gone = false
    const goOn = (error) => {
      clearTimeout(late)
      if (!gone && !res.headersSent) next(error)
      gone = true
    }
    const late = setTimeout(goOn, waitMs)
    res.once('close', () => clearTimeout(late))
    middleware(req, res, goOn)
  }
}

const app = express()
app.use(within(Number(WAIT_MS) + 500, prerender))
app.use(express.static(SITE_DIR, { index: false }))
// No path: what stands for all of them differs between Express 4 and 5.
app.use(async (req, res) => {
  if (req.method === 'POST') res.send(`Received: ${await text(req)}`)
  else res.sendFile('index.html', { root: SITE_DIR })
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(JSON.stringify({ event: 'ready', port: server.address().port }))
})
