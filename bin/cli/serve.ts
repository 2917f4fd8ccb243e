import type { Config } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { defineCommand } from '../command-line/command.ts'
import { type Node, startNode } from '../node/node.ts'
import { startUnlessEnded, watchForEnding } from '../node/shutdown.ts'

export const serve = defineCommand({
  options: {},
  async run(_values, { config, say }) {
    const log = createLog(config.logLevel)
    const ending = watchForEnding(config)
    const node = await startUnlessEnded(ending, (signal) => startNode({ config, log, say, signal }))
    if (node === null) return null
    process.stdout.write(
      `${JSON.stringify({ event: 'ready', api: node.api, edge: node.edge, edge_tls: node.edgeTls })}\n`,
    )
    if (process.stderr.isTTY === true) say(greeting(node, config))
    const newer = await Promise.race([node.outdated, ending.asked.then(() => null)])
    if (newer === null) log.info({ reason: await ending.asked }, 'ending')
    else
      log.fatal(
        { migration: newer },
        'ending: the database was changed for a newer Prepaint, run that version',
      )
    await node.close()
    return newer === null ? null : { json: {}, text: '', exitCode: 1 }
  },
})

/** For the person at the terminal; programs read the line on stdout. */
function greeting({ api, edge }: Node, { roles }: Config): string {
  const doors = [
    ...(edge === null ? [] : [`live traffic at ${edge}`]),
    roles.has('api') ? `API at ${api}, its documents at ${api}/docs` : `readiness at ${api}/readyz`,
  ]
  return `Prepaint is ready: ${doors.join('; ')}. Ctrl-C ends it.`
}
