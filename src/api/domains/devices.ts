import { z } from 'zod'
import { transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import { mostAskedPaths } from '../../insight/traffic/read-summaries.ts'
import { COMPARED_PAGES, checkDevices } from '../../queue/upkeep/device-checks.ts'
import { DEVICE_DIFFERENCES, devicesView } from '../../sites/devices.ts'
import { domainSettingsSchema } from '../../sites/domain-settings.ts'
import { queuedJobSchema } from '../cache/jobs.ts'
import { callerOf } from '../http/access.ts'
import { type ApiApp, type ApiDeps, apiSchema } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { pagePathsOf } from '../pages/page-choice.ts'
import { domainParams, ownedDomain } from './domain-schema.ts'

const time = z.iso.datetime({ precision: 3 }).nullable()

export const devicesSchema = apiSchema(
  'Devices',
  z.object({
    domain: z.string(),
    devices: domainSettingsSchema.shape.devices,
    finding: z
      .enum(['alike', 'different'])
      .nullable()
      .describe('`different`: at least one compared page differs; null: none was compared yet'),
    checked_at: time.describe('The last comparison; null: none yet'),
    pages: z
      .array(
        z.object({
          path: z.string(),
          alike: z.boolean().nullable().describe('null: its first comparison is under way'),
          differences: z
            .array(z.enum(DEVICE_DIFFERENCES))
            .describe('Between the pages for desktops and phones'),
          checked_at: time,
        }),
      )
      .describe('By path'),
  }),
)

export function devices(app: ApiApp, { caughtUp, clock, pool }: ApiDeps): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/devices',
    config: { access: 'key', refuses: ['domain_not_found'] },
    schema: {
      operationId: 'getDevices',
      tags: ['Domains'],
      summary: 'Whether desktops and phones get the same pages',
      params: domainParams,
      response: { 200: jsonResponse('The finding', devicesSchema) },
    },
    handler: async (request) => {
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      return devicesView(pool, domain)
    },
  })

  app.route({
    method: 'POST',
    url: '/api/domains/:domain/devices/check',
    config: { access: 'key', refuses: ['domain_not_found', 'domain_inactive', 'queue_full'] },
    schema: {
      operationId: 'checkDevices',
      tags: ['Domains'],
      summary: 'Compare pages as desktops and phones get them',
      description:
        'Renders each page for both devices, at priority `refresh`. Both renders are stored and count. Where they differ, the desktop page is rendered once more, to leave out what differs each time; that render is not stored and does not count.',
      params: domainParams,
      body: z
        .object({
          paths: z
            .array(z.string().startsWith('/', 'must start with /'))
            .min(1)
            .max(10)
            .optional()
            .describe('Default: those that crawlers asked for most in the last week, else `/`'),
        })
        .nullish(),
      response: {
        202: jsonResponse('The jobs', z.object({ domain: z.string(), jobs: z.array(queuedJobSchema) })),
      },
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      const domain = await ownedDomain(pool, account, request.params.domain)
      const named = request.body?.paths
      const asked =
        named ?? (await mostAskedPaths(pool, { account, domain: domain.id }, clock.nowMs(), COMPARED_PAGES))
      const paths = pagePathsOf(domain, asked.length === 0 ? ['/'] : asked)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const jobs = await transaction(pool, (client) => checkDevices(client, domain.id, paths))
      await caughtUp()
      return reply.code(202).send({ domain: domain.name, jobs })
    },
  })
}
