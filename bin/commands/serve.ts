import { createLog } from '../../src/log.ts'
import { defineCommand } from '../command.ts'
import { watchForEnding } from '../ending.ts'
import { startNode } from '../serve.ts'

export const serve = defineCommand({
  options: {},
  async run(_values, { config, say }) {
    const log = createLog(config.logLevel)
    const ending = watchForEnding(config)
    const starting = startNode({ config, log, say })
    // A signal during a start of seconds is heard at once; what was started by then is closed in order.
    const node = await starting
    process.stdout.write(`${JSON.stringify({ event: 'ready', api: node.api, edge: node.edge })}\n`)
    log.info({ reason: await ending.asked }, 'ending')
    await node.close()
    return { json: {}, text: '' }
  },
})
