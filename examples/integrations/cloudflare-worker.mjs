// Crawlers get finished pages from Prepaint, all else goes on to the origin; so does everything when Prepaint is
// away: see docs/integrations/cloudflare-worker.md. Deploy it with prepaint-page.mjs beside it.
//
//   PREPAINT_URL   variable, such as https://prepaint.example.com (the API's address)
//   PREPAINT_KEY   secret: an API key of the account that owns the domain

import { mayBeForUs, prepaintPage } from './prepaint-page.mjs'

export default {
  async fetch(request, env) {
    if (!mayBeForUs(request)) return fetch(request)
    const page = await prepaintPage(request, {
      service: env.PREPAINT_URL,
      key: env.PREPAINT_KEY,
      ...(env.WAIT_MS && { waitMs: Number(env.WAIT_MS) }),
    })
    return page ?? fetch(request)
  },
}
