import { enableCompileCache, flushCompileCache } from 'node:module'
import { createLog } from '@prepaint/runtime/log.ts'
import { readableDir } from '@prepaint/runtime/system-user.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import type { NodeAddresses } from '../node/node.ts'
import { startUnlessStopped, watchForShutdown } from '../node/shutdown.ts'
import type { Config } from '../settings/config.ts'

const serve = defineCommand({
  options: {},
  async run(_values, { config, say }) {
    const log = createLog(config.logLevel)
    const shutdown = watchForShutdown(config)
    log.info({ version: config.version, data_dir: config.dataDir }, 'starting')
    keepCompiled(config)
    const { startNode } = await import('../node/start-node.ts')
    const node = await startUnlessStopped(shutdown, (signal) => startNode({ config, log, say, signal }))
    if (node === null) return null
    const { api, edge, edgeTls } = node.addresses
    const ready: Record<string, unknown> = { event: 'ready', api, edge, edge_tls: edgeTls }
    if (!node.hasDatabase) ready['database'] = 'unreachable'
    process.stdout.write(`${JSON.stringify(ready)}\n`)
    if (process.stderr.isTTY === true) say(greeting(node.addresses, config))
    flushCompileCache()
    const newer = await Promise.race([node.outdated, shutdown.requested.then(() => null)])
    if (newer === null) log.info({ reason: await shutdown.requested }, 'shutting down')
    else
      log.fatal(
        { migration: newer },
        'shutting down: the database was migrated by a newer Prepaint; run that version',
      )
    await node.close()
    log.info('stopped')
    return newer === null ? null : { json: {}, text: '', exitCode: 1 }
  },
})

/** Halves the processor time of later starts. In the data directory, because its code runs as this process. */
function keepCompiled({ dataDir }: Config): void {
  try {
    enableCompileCache(readableDir(dataDir, 'compiled', null))
  } catch {
    // Needed parts report a directory that cannot be used.
  }
}

/** Returns the line that people read; programs read stdout. */
function greeting({ api, edge }: NodeAddresses, { roles }: Config): string {
  const addresses: string[] = []
  if (edge !== null) addresses.push(`live traffic at ${edge}`)
  if (roles.has('api')) addresses.push(`API at ${api}, documentation at ${api}/docs`)
  else addresses.push(`readiness at ${api}/readyz`)
  return `Prepaint is ready: ${addresses.join('; ')}. Ctrl-C stops it.`
}

export const commands: Commands = {
  serve: serve,
}
