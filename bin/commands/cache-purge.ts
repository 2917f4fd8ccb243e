import { transaction } from '../../src/db/transaction.ts'
import { normalisePath, normalisePrefix, type QueryRule } from '../../src/pages/path.ts'
import { type PurgeWhat, purgePages } from '../../src/pages/purge.ts'
import { purgeAhead } from '../../src/pages/purge-ahead.ts'
import { defineCommand, UsageError } from '../command.ts'
import { domainNamed } from '../domain-named.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const cachePurge = defineCommand({
  options: {
    domain: { value: 'D', text: 'the domain', required: true },
    path: { value: 'P', text: 'only this page; with * at the end, all pages that begin so' },
  },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const keysDeleted = await withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      const what = whatOf(values.path, domain.settings.query)
      const ahead = await purgeAhead(pool, domain.id, what)
      return ahead + (await transaction(pool, (client) => purgePages(client, domain.id, what)))
    })
    return {
      json: { domain: name, keysDeleted },
      text: `Deleted ${keysDeleted} stored ${keysDeleted === 1 ? 'entry' : 'entries'} of ${name}.`,
    }
  },
})

function whatOf(raw: string | null, query: QueryRule): PurgeWhat {
  if (raw === null) return { kind: 'all' }
  if (raw.endsWith('*')) {
    const prefix = normalisePrefix(raw.slice(0, -1))
    if (prefix !== null) return { kind: 'prefix', prefix }
  } else {
    const path = normalisePath(raw, query)
    if (path !== null) return { kind: 'path', path }
  }
  throw new UsageError(`--path must be a path that begins with /, got "${raw}"`)
}
