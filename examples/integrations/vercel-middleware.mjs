// middleware.js of a site at Vercel, whose crawlers get finished pages: see docs/integrations/vercel.md.
//
//   npm install @vercel/functions @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000   variable: the URL of the API (https:// in production)
//   PREPAINT_KEY=pp_site_TOKEN           secret: the site token of the domain
//   SITE=https://www.example.com         variable: what visitors see

import { prepaint } from '@prepaint/middleware/fetch'
import { next } from '@vercel/functions'

const { PREPAINT_URL, PREPAINT_KEY, SITE, WAIT_MS = '15000' } = process.env

const pageFor = prepaint({ service: PREPAINT_URL, key: PREPAINT_KEY, site: SITE, waitMs: Number(WAIT_MS) })

export default async function middleware(request) {
  return (await pageFor(request)) ?? next()
}
