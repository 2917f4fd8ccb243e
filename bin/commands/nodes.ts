import { type FleetNode, readFleet } from '../../src/fleet/node.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { table } from '../table.ts'

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
