import { z } from 'zod'

import type { ListedPage } from '../pages/list-pages.ts'
import { apiSchema } from './api-schema.ts'

const time = z.iso.datetime({ precision: 3 })

export const listedPageSchema = apiSchema(
  'ListedPage',
  z.object({
    path: z.string().describe('Path beginning with `/`, with its normalised query'),
    status: z.int().describe('What crawlers are answered with'),
    html_bytes: z.int().describe('Size of the HTML'),
    stored_bytes: z.int().describe('And as it is stored, compressed'),
    rendered_at: time,
    fresh_until: time.describe('Until then it is served without a second thought'),
    freshness: z
      .enum(['fresh', 'stale', 'kept', 'gone'])
      .describe(
        '`stale`: served while a refresh is queued; `kept`: only for when the origin or the renderer fails; `gone`: no longer served',
      ),
    last_crawler: z
      .object({
        name: z.string().describe('What it calls itself'),
        category: z.string(),
        asked_at: time,
      })
      .nullable()
      .describe('Who asked last in the last 30 days; at most a minute behind'),
    last_render: z
      .object({ outcome: z.string(), ended_at: time })
      .nullable()
      .describe('How the last render in the last 30 days ended, which need not be the one that is stored'),
  }),
)

export function listedPageView(page: ListedPage): z.infer<typeof listedPageSchema> {
  const { lastCrawler, lastRender } = page
  return {
    path: page.path,
    status: page.status,
    html_bytes: page.htmlBytes,
    stored_bytes: page.storedBytes,
    rendered_at: page.renderedAt.toISOString(),
    fresh_until: new Date(page.freshUntilMs).toISOString(),
    freshness: page.freshness,
    last_crawler: lastCrawler && {
      name: lastCrawler.name,
      category: lastCrawler.category,
      asked_at: lastCrawler.askedAt.toISOString(),
    },
    last_render: lastRender && { outcome: lastRender.outcome, ended_at: lastRender.endedAt.toISOString() },
  }
}
