// netlify/edge-functions/prepaint.mjs of a site whose crawlers get finished pages: see docs/integrations/netlify.md.
//
//   npm install @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000   variable: the URL of the API (https:// in production)
//   PREPAINT_KEY=pp_site_TOKEN           secret: the site token of the domain
//   SITE=https://www.example.com         variable: what visitors see

import { prepaint } from '@prepaint/middleware/fetch'

const { env } = globalThis.Netlify

const pageFor = prepaint({
  service: env.get('PREPAINT_URL'),
  key: env.get('PREPAINT_KEY'),
  site: env.get('SITE'),
  waitMs: Number(env.get('WAIT_MS') ?? 15_000),
})

export default async (request, context) => (await pageFor(request)) ?? context.next()

export const config = { path: '/*' }
