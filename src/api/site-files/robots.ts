import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { forbiddenEngines, judgeCrawler } from '../../site-files/judge-crawler.ts'
import { ownRobotsText, robotsSiteOf } from '../../site-files/robots-files.ts'
import { ROBOTS_TEXT_LIMIT_BYTES } from '../../site-files/robots-text.ts'
import { robotsSettingsSchema } from '../../sites/domain-settings.ts'
import { domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'

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

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/robots',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'getRobots',
      tags: ['Site files'],
      summary: 'The robots.txt of a domain, as its owner wrote it and as it is served now',
      params: domainParams,
      response: { 200: jsonResponse('robots.txt', robotsSchema) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const { mode } = domain.settings.robots
      const [text, served] = [
        await ownRobotsText(pool, domain.id),
        (await deps.robots?.served(robotsSiteOf(domain))) ?? null,
      ]
      return { domain: domain.name, mode, text, served }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/domains/:domain/robots/test',
    config: { access: 'key', refuses: ['domain_not_found', 'origin_not_reached'] },
    schema: {
      operationId: 'testRobots',
      tags: ['Site files'],
      summary: 'Whether a crawler may request a path, by what is served now or by another text',
      params: domainParams,
      body: testSchema,
      response: { 200: jsonResponse('The verdict', robotsVerdictSchema) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const { path, crawler, text } = request.body
      const judged = text ?? (await deps.robots?.served(robotsSiteOf(domain)))
      if (judged == null) throw new AppError('origin_not_reached')
      return judgeCrawler(judged, crawler, path)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/domains/:domain/robots/preview',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'previewRobots',
      tags: ['Site files'],
      summary: 'What would be served with other settings, without saving them',
      params: domainParams,
      body: robotsSettingsSchema,
      response: { 200: jsonResponse('The text', robotsPreviewSchema) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const { mode, text = '' } = request.body
      const would = (await deps.robots?.wouldServe(robotsSiteOf(domain), { mode, text })) ?? null
      return { text: would, forbids: forbiddenEngines(would ?? (mode === 'append' ? text : '')) }
    },
  })
}
