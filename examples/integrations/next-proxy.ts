// proxy.ts of a site of Next.js, whose crawlers get finished pages: see docs/integrations/nextjs.md.
//
//   npm install @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com npx next start

import { prepaint } from '@prepaint/middleware/next'

export const proxy = prepaint({
  service: process.env.PREPAINT_URL ?? '',
  key: process.env.PREPAINT_KEY ?? '',
  site: process.env.SITE ?? '',
  waitMs: Number(process.env.WAIT_MS ?? 15_000),
})

// Pages only: what browsers load for them needs no look.
export const config = { matcher: '/((?!_next/|api/).*)' }
