import { databaseNow } from '../../src/db/database-now.ts'
import { transaction } from '../../src/db/transaction.ts'
import { AppError } from '../../src/errors.ts'
import type { DomainName } from '../../src/ids.ts'
import { startWarm } from '../../src/queue/warm.ts'
import { cancelWarm, pauseWarm, resumeWarm } from '../../src/queue/warm-control.ts'
import { readWarm } from '../../src/queue/warm-progress.ts'
import { CommandError, defineCommand, UsageError } from '../command.ts'
import { domainNamed } from '../domain-named.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'
import { warmText } from '../warm-text.ts'
import { watchWarm } from '../watch-warm.ts'

export const cacheWarm = defineCommand({
  options: {
    domain: { value: 'D', text: 'the domain', required: true },
    outdated: { value: null, text: 'only what is not stored, stale, or older than its sitemap says' },
    wait: { value: null, text: 'wait until all are rendered, also when not at a terminal' },
    status: { value: null, text: 'start none, say how far the last one is' },
    pause: { value: null, text: 'pause the one under way' },
    resume: { value: null, text: 'go on with the one that is paused' },
    cancel: { value: null, text: 'end the one under way; what was rendered stays' },
  },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const actions = (['status', 'pause', 'resume', 'cancel'] as const).filter((action) => values[action])
    const [action = null] = actions
    if (actions.length > 1) throw new UsageError(`--${actions.join(' and --')} cannot be given together`)
    if (action !== null && values.outdated)
      throw new UsageError(`--outdated starts a warm, --${action} does not`)
    return withDatabase(around, async ({ pool }) => {
      const domain = await domainNamed(pool, name)
      const since = await databaseNow(pool)
      if (action === null) {
        if (!domain.isActive) throw new AppError('domain_inactive')
        await startWarm(pool, domain.id, values.outdated ? 'outdated' : 'all')
      } else if (action !== 'status') {
        const change = { pause: pauseWarm, resume: resumeWarm, cancel: cancelWarm }[action]
        const isChanged = await transaction(pool, (client) => change(client, domain.id))
        if (!isChanged) throw new CommandError(unchanged(name, action))
      }
      const isWatched = action === null || action === 'resume' || (action === 'status' && values.wait)
      if (isWatched) return watchWarm({ pool, around }, { domain, since, wait: values.wait })
      const warm = await readWarm(pool, domain.id)
      const text = warm === null ? `${name} was never warmed.` : warmText(warm)
      return { json: { domain: name, warm }, text }
    })
  },
})

function unchanged(name: DomainName, action: 'pause' | 'resume' | 'cancel'): string {
  return action === 'resume' ? `No warm of ${name} is paused` : `No warm of ${name} is under way`
}
