import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { judgeCrawler } from '../../site-files/judge-crawler.ts'
import { robotsSiteOf, robotsView } from '../../site-files/robots-files.ts'
import { ROBOTS_TEXT_LIMIT_BYTES } from '../../site-files/robots-text.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'

const testSchema = z.object({
  path: z.string().startsWith('/', 'must start with /').max(2_048),
  crawler: z.string().min(1).max(500).describe('A token such as `Googlebot`, or a whole user agent'),
  text: z
    .string()
    .refine((text) => Buffer.byteLength(text) <= ROBOTS_TEXT_LIMIT_BYTES, 'must have at most 512000 bytes')
    .optional()
    .describe('Judged instead of what is served now'),
})

const robotsVerdictSchema = apiSchema(
  'RobotsVerdict',
  z.object({
    allowed: z.boolean(),
    line: z.int().nullable().describe('Of the rule that decided, from 1; null: none did'),
    rule: z.string().nullable().describe('That line'),
  }),
)

export const robotsSchema = apiSchema(
  'Robots',
  z.object({
    domain: z.string(),
    mode: z.enum(['origin', 'append', 'replace']),
    text: z.string().describe('The owner’s'),
    origin: z.string().nullable().describe('Of the origin; null: it cannot be reached'),
    served: z.string().nullable().describe('As it is served now; null: the origin cannot be reached'),
  }),
)

export function robots(app: ApiApp, deps: ApiDeps): void {
  const { pool } = deps
  const add = domainRoutes(app, pool, 'Site files')

  add('GET', 'robots', 'getRobots', {
    summary: 'The robots.txt of a domain, as its owner wrote it and as it is served now',
    response: { 200: jsonResponse('robots.txt', robotsSchema) },
    handler: (domain) => robotsView(pool, deps.robots, domain),
  })

  add('POST', 'robots/test', 'testRobots', {
    summary: 'Whether a crawler may request a path, by what is served now or by another text',
    body: testSchema,
    refuses: ['origin_not_reached'],
    response: { 200: jsonResponse('The verdict', robotsVerdictSchema) },
    handler: async (domain, { body: { path, crawler, text } }) => {
      const judged = text ?? (await deps.robots?.served(robotsSiteOf(domain)))
      if (judged == null) throw new AppError('origin_not_reached')
      return judgeCrawler(judged, crawler, path)
    },
  })
}
