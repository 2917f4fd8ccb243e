import type { JobState } from '@prepaint/contract/outcome/job.ts'
import { countJobs, ENDED_READ, listJobs } from '@prepaint/pages/queue/jobs/list-jobs.ts'
import { type FleetNode, readFleet } from '@prepaint/service/insight/fleet/node.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import {
  domainNamed,
  parseChoiceOption,
  parseCountOption,
  parseDomainOption,
} from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

const STATES: readonly JobState[] = ['queued', 'running', 'done', 'failed', 'cancelled']
const LIMIT = { default: '20', max: 10_000 }
const PARTIAL_COUNT = `Only the last ${ENDED_READ.toLocaleString('en-US')} ended jobs were counted; --domain counts all jobs of a domain.`

const jobs = defineCommand({
  options: {
    domain: { value: 'D', text: 'only jobs of this domain' },
    state: { value: 'S', text: `only jobs in this state: ${STATES.join(', ')}` },
    limit: { value: 'N', text: `how many, newest first (default ${LIMIT.default}, at most ${LIMIT.max})` },
  },
  async run(values, around) {
    const name = values.domain === null ? null : parseDomainOption(values.domain)
    const state = values.state === null ? null : parseChoiceOption('state', values.state, STATES)
    const limit = parseCountOption('limit', values.limit ?? LIMIT.default, LIMIT.max)
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
    const totals = found.all_counted ? counts : `${counts}\n${PARTIAL_COUNT}`
    const columns = ['queued at', 'domain', 'path', 'priority', 'state', 'outcome']
    return { json: found, text: `${table(columns, rows, 'No such jobs.')}\n\n${totals}` }
  },
})

const MIB = 1024 * 1024

const nodes = defineCommand({
  options: {},
  async run(_values, around) {
    const fleet = await withDatabase(around, ({ pool }) => readFleet(pool))
    const right = (heading: string) => ({ heading, right: true as const })
    const columns = [
      'host',
      right('API port'),
      'state',
      'roles',
      'version',
      'started',
      'last seen',
      right('running'),
      right('slots'),
      right('load'),
      right('cores'),
      right('MiB'),
      'browser',
      'schema',
    ]
    return { json: fleet, text: table(columns, fleet.nodes.map(row), 'No node is running.') }
  },
})

function row(node: FleetNode): string[] {
  const { host, api_port, state, roles, version, started_at, seen_at, running, slots, load, cores, browser } =
    node
  return [
    host,
    String(api_port ?? '-'),
    state,
    roles.join(','),
    version,
    started_at,
    seen_at,
    String(running),
    String(slots),
    load.toFixed(2),
    String(cores),
    String(Math.round(node.memory_bytes / MIB)),
    browser,
    node.schema,
  ]
}

const migrateCommand = defineCommand({
  options: {},
  async run(_values, around) {
    const applied = await withDatabase(around, async (store) => store.applied, { create: true })
    const text = ['Applied:', ...applied].join('\n  ')
    return { json: { applied }, text: applied.length === 0 ? 'The database is up to date.' : text }
  },
})

export const commands: Commands = {
  jobs: jobs,
  nodes: nodes,
  migrate: migrateCommand,
}
