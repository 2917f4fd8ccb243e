import { checkDevicesAnswer, checkDevicesBody, devicesSchema } from '@prepaint/contract/api/devices.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { COMPARED_PAGES, checkDevices } from '@prepaint/pages/queue/upkeep/device-checks.ts'
import { devicesView } from '@prepaint/pages/store/device-pages.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { mostAskedPaths } from '@prepaint/service/insight/traffic/read-summaries.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { domainRoutes } from '../http/routes.ts'
import { pagePathsOf } from '../pages/page-choice.ts'

export function devices(app: ApiApp, { caughtUp, clock, pool }: ApiParts): void {
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
    body: checkDevicesBody,
    refuses: ['domain_inactive', 'queue_full'],
    response: {
      202: jsonResponse('The jobs', checkDevicesAnswer),
    },
    handler: async (domain, request, reply) => {
      const of = { account: domain.account, domains: [domain.id] }
      const asked = request.body?.paths ?? (await mostAskedPaths(pool, of, clock.nowMs(), COMPARED_PAGES))
      const paths = pagePathsOf(domain, asked.length === 0 ? ['/'] : asked)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const jobs = await transaction(pool, (client) => checkDevices(client, domain.id, paths))
      await caughtUp()
      return reply.code(202).send({ domain: domain.name, jobs })
    },
  })
}
