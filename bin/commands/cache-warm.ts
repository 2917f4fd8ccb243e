import { AppError } from '../../src/errors.ts'
import { databaseNow } from '../../src/queue/progress.ts'
import { requestWarmRun } from '../../src/queue/warm-run.ts'
import { defineCommand } from '../command.ts'
import { domainNamed } from '../domain-named.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'
import { tellQueued } from '../watch-queue.ts'

export const cacheWarm = defineCommand({
  options: {
    domain: { value: 'D', text: 'the domain', required: true },
    wait: { value: null, text: 'wait until all are rendered, also when not at a terminal' },
  },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    return withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      if (!domain.isActive) throw new AppError('domain_inactive')
      const since = await databaseNow(pool)
      await requestWarmRun(pool, domain.id)
      const words = `All known paths of ${name} will be rendered again.`
      const told = { domain, since, wait: values.wait, words, json: { domain: name } }
      return tellQueued({ pool, around }, told)
    })
  },
})
