import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { DEVICE_DIFFERENCES, devicesView } from '@prepaint/contract/settings/devices.ts'
import { domainSettingsSchema } from '@prepaint/contract/settings/domain-settings.ts'
import { COMPARED_PAGES, checkDevices } from '@prepaint/pages/queue/upkeep/device-checks.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { mostAskedPaths } from '@prepaint/service/insight/traffic/read-summaries.ts'
import { z } from 'zod'
import { queuedJobSchema } from '../cache/jobs.ts'
import type { ApiApp, ApiDeps } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { pagePathsOf } from '../pages/page-choice.ts'

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
  const add = domainRoutes(app, pool, 'Domains')

  add('GET', 'devices', 'getDevices', {
    summary: 'Whether desktops and phones get the same pages',
    response: { 200: jsonResponse('The finding', devicesSchema) },
    handler: (domain) => devicesView(pool, domain),
  })

  add('POST', 'devices/check', 'checkDevices', {
    summary: 'Compare pages as desktops and phones get them',
    description:
      'Renders each page for both devices, at priority `refresh`. Both renders are stored and count. Where they differ, the desktop page is rendered once more, to leave out what differs each time; that render is not stored and does not count.',
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
    refuses: ['domain_inactive', 'queue_full'],
    response: {
      202: jsonResponse('The jobs', z.object({ domain: z.string(), jobs: z.array(queuedJobSchema) })),
    },
    handler: async (domain, request, reply) => {
      const of = { account: domain.account, domain: domain.id }
      const asked = request.body?.paths ?? (await mostAskedPaths(pool, of, clock.nowMs(), COMPARED_PAGES))
      const paths = pagePathsOf(domain, asked.length === 0 ? ['/'] : asked)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const jobs = await transaction(pool, (client) => checkDevices(client, domain.id, paths))
      await caughtUp()
      return reply.code(202).send({ domain: domain.name, jobs })
    },
  })
}
