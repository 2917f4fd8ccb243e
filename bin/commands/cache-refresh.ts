import { DEFAULT_PATHS } from '../../src/api/routes/cache-refresh.ts'
import { databaseNow } from '../../src/db/database-now.ts'
import { retriedTransaction } from '../../src/db/retried-transaction.ts'
import { AppError } from '../../src/errors.ts'
import { normalisePath } from '../../src/pages/path.ts'
import { refreshPages } from '../../src/queue/refresh.ts'
import { defineCommand, UsageError } from '../command.ts'
import { domainNamed } from '../domain-named.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'
import { tellQueued } from '../watch-queue.ts'

export const cacheRefresh = defineCommand({
  options: {
    domain: { value: 'D', text: 'the domain', required: true },
    path: { value: 'P', text: `a page, as often as wanted; without: ${DEFAULT_PATHS.join(' ')}`, many: true },
    wait: { value: null, text: 'wait until they are rendered, also when not at a terminal' },
  },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const raw = values.path.length > 0 ? values.path : DEFAULT_PATHS
    return withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const paths = raw.map((text) => {
        const path = normalisePath(text, domain.settings.query)
        if (path === null) throw new UsageError(`--path must be a path that begins with /, got "${text}"`)
        return path
      })
      const since = await databaseNow(pool)
      const jobs = await retriedTransaction(pool, (client) => refreshPages(client, domain.id, paths))
      const words = `Queued ${jobs.length} ${jobs.length === 1 ? 'page' : 'pages'} of ${name}.`
      const told = { domain, since, wait: values.wait, words, json: { domain: name, jobs } }
      return tellQueued({ pool, around }, told)
    })
  },
})
