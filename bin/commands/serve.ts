import { createLog } from '../../src/log.ts'
import { defineCommand } from '../command.ts'
import { watchForEnding } from '../ending.ts'
import { startNode } from '../serve.ts'

export const serve = defineCommand({
  options: {},
  async run(_values, { config, say }) {
    const log = createLog(config.logLevel)
    const ending = watchForEnding(config)
    const node = await startNode({ config, log, say })
    process.stdout.write(`${JSON.stringify({ event: 'ready', api: node.api, edge: node.edge })}\n`)
    log.info({ reason: await ending.asked }, 'ending')
    await node.close()
    return null
  },
})
