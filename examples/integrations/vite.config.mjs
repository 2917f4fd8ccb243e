// vite.config.mjs of a site whose preview gives crawlers finished pages: see docs/integrations/vite.md.
//
//   npm install --save-dev @prepaint/middleware
//   PREPAINT_URL=http://127.0.0.1:3000 PREPAINT_KEY=pp_site_TOKEN SITE=https://www.example.com npx vite preview

import { prepaint } from '@prepaint/middleware/express'

const { PREPAINT_URL, PREPAINT_KEY, SITE, WAIT_MS = '15000' } = process.env

export default {
  // Vite answers to these names only.
  preview: { allowedHosts: SITE === undefined ? [] : [new URL(SITE).hostname] },
  plugins: [
    {
      name: 'prepaint',
      configurePreviewServer({ middlewares }) {
        // Before Vite's own.
        middlewares.use(
          prepaint({ service: PREPAINT_URL, key: PREPAINT_KEY, site: SITE, waitMs: Number(WAIT_MS) }),
        )
      },
    },
  ],
}
