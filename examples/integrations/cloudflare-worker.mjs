// Crawlers get finished pages from Prepaint, all else goes on to the origin; so does everything when Prepaint is
// away: see docs/integrations/cloudflare-worker.md.
//
//   npm install @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000   variable: the URL of the API (https:// in production)
//   PREPAINT_KEY=pp_site_TOKEN           secret: the site token of the domain

import { prepaint } from '@prepaint/middleware/fetch'

/** One for each isolate: it remembers that Prepaint is away. */
let pageFor = null

export default {
  async fetch(request, env) {
    pageFor ??= prepaint({
      service: env.PREPAINT_URL,
      key: env.PREPAINT_KEY,
      waitMs: Number(env.WAIT_MS ?? 15_000),
    })
    return (await pageFor(request)) ?? fetch(request)
  },
}
