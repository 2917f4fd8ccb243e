// For sites of Express, Connect, Polka or plain node:http, without any dependency: crawlers get finished pages
// from Prepaint, and the app answers all else, and everything when Prepaint is away. See docs/integrations/express.md.
//
//   app.use(prepaint({ service: 'http://127.0.0.1:3000', key: process.env.PREPAINT_KEY, site: 'https://www.example.com' }))

import { mayBeForUs, prepaintPage } from './prepaint-page.mjs'

export function prepaint({ service, key, site, waitMs }) {
  return async (req, res, next) => {
    const url = site + (req.originalUrl ?? req.url)
    const { method } = req
    if (method !== 'GET' && method !== 'HEAD') return next()
    const headers = { 'user-agent': req.headers['user-agent'] ?? '' }
    if (req.headers['x-prerender'] !== undefined) headers['x-prerender'] = '1'
    const request = new Request(url, { method, headers })
    if (!mayBeForUs(request)) return next()

    const page = await prepaintPage(request, { service, key, ...(waitMs && { waitMs }) })
    if (page === null) return next()
    res.writeHead(page.status, Object.fromEntries(page.headers))
    res.end(Buffer.from(await page.arrayBuffer()))
  }
}
