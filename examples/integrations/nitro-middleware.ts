// server/middleware/prepaint.ts of a site of Nuxt or Nitro, whose crawlers get finished pages: see docs/integrations/nuxt.md.
//
//   npm install @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com node .output/server/index.mjs

import { prepaint } from '@prepaint/middleware/nitro'

export default prepaint({
  service: process.env.PREPAINT_URL ?? '',
  key: process.env.PREPAINT_KEY ?? '',
  site: process.env.SITE ?? '',
  waitMs: Number(process.env.WAIT_MS ?? 15_000),
})
