import { setTimeout as sleep } from 'node:timers/promises'
import { transaction } from '../../src/db/transaction.ts'
import { AppError } from '../../src/errors.ts'
import type { PagePath } from '../../src/ids.ts'
import { checkDevices } from '../../src/queue/upkeep/device-checks.ts'
import { devicesView } from '../../src/sites/devices.ts'
import { normalisePath } from '../../src/store/path.ts'
import { CommandError, type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { DOMAIN_OPTION, domainNamed, parseDomainOption } from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

const POLL_MS = 500
const WAIT_MS = 600_000
const PATHS = 10

const check = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    path: { value: 'P', text: 'a page to compare, at most 10 times; default: /', many: true },
  },
  async run(values, around) {
    const name = parseDomainOption(values.domain)
    if (values.path.length > PATHS) throw new UsageError(`--path can be given ${PATHS} times`)
    return withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const asked = values.path.length === 0 ? ['/'] : values.path
      const paths = [...new Set(asked.map((raw) => pathOption(raw, domain.settings.query)))]
      await transaction(pool, (client) => checkDevices(client, domain.id, paths))
      for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += POLL_MS) {
        const { isUnderWay, ...found } = await devicesView(pool, domain)
        const isDone = !paths.some((path) => isUnderWay.has(path))
        const pages = found.pages.filter(({ path }) => paths.includes(path as PagePath))
        if (isDone) return { json: { ...found, pages }, text: textOf(pages) }
        await sleep(POLL_MS)
      }
      throw new CommandError('No rendering node has compared the pages within 10 minutes')
    })
  },
})

function pathOption(raw: string, query: Parameters<typeof normalisePath>[1]): PagePath {
  const path = normalisePath(raw, query)
  if (path === null) throw new UsageError(`--path must be the path of a page, got "${raw}"`)
  return path
}

function textOf(pages: Awaited<ReturnType<typeof devicesView>>['pages']): string {
  const rows = pages.map(({ path, alike, differences }) => [
    path,
    alike === null ? 'could not be compared' : alike ? 'alike' : differences.join(', '),
  ])
  return table(['path', 'desktop and mobile differ in'], rows, '')
}

export const commands: Commands = { 'devices check': check }
