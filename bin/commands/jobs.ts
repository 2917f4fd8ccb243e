import type { JobState } from '../../src/queue/job.ts'
import { countJobs, ENDED_LOOKED_AT, listJobs } from '../../src/queue/list-jobs.ts'
import { defineCommand, UsageError } from '../command.ts'
import { domainNamed } from '../domain-named.ts'
import { withDatabase } from '../open-store.ts'
import { countOf, domainNameOf } from '../option-values.ts'
import { table } from '../table.ts'

const STATES: readonly JobState[] = ['queued', 'running', 'done', 'failed', 'cancelled']
const LIMIT = { usual: '20', most: 10_000 }
const PARTLY = `Of the jobs that have ended, the last ${ENDED_LOOKED_AT.toLocaleString('en-US')} were looked at; --domain looks at all of a domain.`

export const jobs = defineCommand({
  options: {
    domain: { value: 'D', text: 'only jobs of this domain' },
    state: { value: 'S', text: `only jobs in this state: ${STATES.join(', ')}` },
    limit: { value: 'N', text: `at most so many, the newest first (${LIMIT.usual})` },
  },
  async run(values, around) {
    const name = values.domain === null ? null : domainNameOf(values.domain)
    const state = values.state === null ? null : stateOf(values.state)
    const limit = countOf('limit', values.limit ?? LIMIT.usual, LIMIT.most)
    const found = await withDatabase(around, async ({ pool }) => {
      const domain = name === null ? null : (await domainNamed(pool, name)).id
      const { counts, isWhole } = await countJobs(pool, domain)
      return { counts, all_counted: isWhole, jobs: await listJobs(pool, { domain, state, limit }) }
    })
    const rows = found.jobs.map((job) => [
      job.created_at,
      job.domain,
      job.path,
      job.priority,
      job.state,
      job.outcome ?? '',
    ])
    const counts = STATES.map((each) => `${found.counts[each]} ${each}`).join(', ')
    const totals = found.all_counted ? counts : `${counts}\n${PARTLY}`
    const columns = ['queued at', 'domain', 'path', 'priority', 'state', 'outcome']
    return { json: found, text: `${table(columns, rows, 'No such jobs.')}\n\n${totals}` }
  },
})

function stateOf(raw: string): JobState {
  const state = STATES.find((each) => each === raw)
  if (state === undefined) throw new UsageError(`--state must be one of ${STATES.join(', ')}, got "${raw}"`)
  return state
}
