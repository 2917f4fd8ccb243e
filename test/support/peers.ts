import { accessSync, constants } from 'node:fs'
import path from 'node:path'

/**
 * Programs that nobody here wrote and that npm does not bring: some tests run
 * against them where they are installed, and against something of our own
 * everywhere. `.ci/run` sees to it that they are there, and says so.
 */
export const PEERS = {
  pebble: { commands: ['pebble', 'pebble-challtestsrv'], package: 'pebble' },
} as const

export type Peer = keyof typeof PEERS

/** `PREPAINT_TEST_PEERS=required`: a missing one is a failure, see `peers.test.ts`. */
export const PEERS_REQUIRED = process.env['PREPAINT_TEST_PEERS'] === 'required'

export function hasPeer(peer: Peer): boolean {
  return PEERS[peer].commands.every((command) => onPath(command))
}

/** How a person gets it. */
export function howToGet(peer: Peer): string {
  return `${peer} is not installed: apt-get install ${PEERS[peer].package}`
}

function onPath(command: string): boolean {
  // Debian keeps servers where the PATH of a user does not reach.
  const places = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']
  return places.some((place) => {
    try {
      accessSync(path.join(place, command), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
