import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { forbiddenEngines, judgeCrawler } from '../../site-files/judge-crawler.ts'
import { ownRobotsText, robotsSiteOf } from '../../site-files/robots-files.ts'
import { ROBOTS_TEXT_LIMIT_BYTES } from '../../site-files/robots-text.ts'
import { robotsSettingsSchema } from '../../sites/domain-settings.ts'
import type { OwnedDomain } from '../../sites/domains.ts'
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

export const robotsVerdictSchema = apiSchema(
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
    served: z.string().nullable().describe('As it is served now; null: the origin cannot be reached'),
  }),
)

export const robotsPreviewSchema = apiSchema(
  'RobotsPreview',
  z.object({
    text: z.string().nullable().describe('As it would be served; null: the origin cannot be reached'),
    forbids: z.array(z.string()).describe('Search engines to which it forbids the whole site'),
  }),
)

export function robots(app: ApiApp, deps: ApiDeps): void {
  const { pool } = deps
  const add = domainRoutes(app, pool, 'Site files')
  const servedNow = async (domain: OwnedDomain) => (await deps.robots?.served(robotsSiteOf(domain))) ?? null

  add('GET', 'robots', 'getRobots', {
    summary: 'The robots.txt of a domain, as its owner wrote it and as it is served now',
    response: { 200: jsonResponse('robots.txt', robotsSchema) },
    handler: async (domain) => {
      const { mode } = domain.settings.robots
      const text = await ownRobotsText(pool, domain.id)
      return { domain: domain.name, mode, text, served: await servedNow(domain) }
    },
  })

  add('POST', 'robots/test', 'testRobots', {
    summary: 'Whether a crawler may request a path, by what is served now or by another text',
    body: testSchema,
    refuses: ['origin_not_reached'],
    response: { 200: jsonResponse('The verdict', robotsVerdictSchema) },
    handler: async (domain, { body: { path, crawler, text } }) => {
      const judged = text ?? (await servedNow(domain))
      if (judged === null) throw new AppError('origin_not_reached')
      return judgeCrawler(judged, crawler, path)
    },
  })

  add('POST', 'robots/preview', 'previewRobots', {
    summary: 'What would be served with other settings, without saving them',
    body: robotsSettingsSchema,
    response: { 200: jsonResponse('The text', robotsPreviewSchema) },
    handler: async (domain, { body: { mode, text = '' } }) => {
      const would = (await deps.robots?.wouldServe(robotsSiteOf(domain), { mode, text })) ?? null
      return { text: would, forbids: forbiddenEngines(would ?? (mode === 'append' ? text : '')) }
    },
  })
}
