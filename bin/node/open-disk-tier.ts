import { DiskTier, removeBodiesOnDisk } from '@prepaint/pages/store/bodies/disk-tier.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { Config } from '../settings/config.ts'

/**
 * Bodies on the disk of an edge, or null if it keeps none: then the node's own process, which is number 0, deletes those of
 * earlier runs.
 */
export function openDiskTier(config: Config, processNumber: number, log: Log): DiskTier | null {
  const { dataDir, roles, edge, bodies } = config
  if (roles.has('edge') && edge.diskBytes > 0 && bodies !== null) {
    return new DiskTier(dataDir, edge.diskBytes, { at: processNumber, of: edge.processes }, systemClock, log)
  }
  if (processNumber === 0) {
    removeBodiesOnDisk(dataDir).catch((error: unknown) => {
      log.warn({ err: error, dir: dataDir }, 'bodies of an earlier run cannot be deleted')
    })
  }
  return null
}
