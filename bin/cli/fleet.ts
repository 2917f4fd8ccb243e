import { migrate } from '../../src/db/migrate.ts'
import { type FleetNode, readFleet } from '../../src/insight/fleet/node.ts'
import { silentLog } from '../../src/log.ts'
import type { JobState } from '../../src/queue/jobs/job.ts'
import { countJobs, ENDED_READ, listJobs } from '../../src/queue/jobs/list-jobs.ts'
import { defineCommand, UsageError } from '../command-line/command.ts'
import { openCommandDatabase, withDatabase } from '../command-line/open-database.ts'
import { countOf, domainNamed, domainNameOf } from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

const STATES: readonly JobState[] = ['queued', 'running', 'done', 'failed', 'cancelled']
const LIMIT = { usual: '20', most: 10_000 }
const PARTLY = `Of the jobs that have ended, the last ${ENDED_READ.toLocaleString('en-US')} were looked at; --domain looks at all of a domain.`

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

const MIB = 1024 * 1024

export const nodes = defineCommand({
  options: {},
  async run(_values, around) {
    const fleet = await withDatabase(around, ({ pool }) => readFleet(pool))
    const right = (heading: string) => ({ heading, right: true as const })
    const columns = [
      ...['host', 'state', 'roles', 'version', 'started', 'last seen', right('running'), right('slots')],
      ...[right('load'), right('cores'), right('MiB'), 'browser', 'schema'],
    ]
    return { json: fleet, text: table(columns, fleet.nodes.map(row), 'No node runs.') }
  },
})

function row(node: FleetNode): string[] {
  const { host, state, roles, version, started_at, seen_at, running, slots, load, cores, browser } = node
  return [
    ...[host, state, roles.join(','), version, started_at, seen_at, String(running), String(slots)],
    ...[load.toFixed(2), String(cores), String(Math.round(node.memory_bytes / MIB)), browser, node.schema],
  ]
}

export const migrateCommand = defineCommand({
  options: {},
  async run(_values, { config, say }) {
    const database = await openCommandDatabase(config, say)
    try {
      const applied = await migrate(database.connection, silentLog())
      const text =
        applied.length === 0
          ? 'The database is up to date.'
          : `Applied:\n${applied.map((name) => `  ${name}`).join('\n')}`
      return { json: { applied }, text }
    } finally {
      await database.close()
    }
  },
})
