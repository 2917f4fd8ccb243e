import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** A program from npm that we are measured against or tried with, by its folder in test/peers. */
export type InstalledPeer = {
  /** Resolves as if asked from within the folder. */
  require: NodeJS.Require
  /** Where a package of it lies. */
  folderOf(name: string): string
}

/**
 * Installs a peer on first use, in a folder of its own with a lock file of its
 * own: what it depends on is no part of ours, and to leave out parts of it
 * would take overrides in our manifest that npm 9, as Debian 12 has it, cannot
 * read. None of its install scripts are run. Throws when npm cannot.
 */
export function installedPeer(peer: string): InstalledPeer {
  const folder = path.resolve(import.meta.dirname, '../peers', peer)
  if (!isInstalled(folder)) {
    const { status, stderr } = spawnSync(
      'npm',
      ['ci', '--ignore-scripts', '--no-audit', '--loglevel=error'],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    )
    if (status !== 0) throw new Error(`npm ci in test/peers/${peer}: ${stderr}`)
  }
  return {
    require: createRequire(path.join(folder, 'package.json')),
    folderOf: (name) => path.join(folder, 'node_modules', name),
  }
}

/** npm leaves this file when it is done. */
function isInstalled(folder: string): boolean {
  const done = path.join(folder, 'node_modules', '.package-lock.json')
  return (
    existsSync(done) && statSync(done).mtimeMs >= statSync(path.join(folder, 'package-lock.json')).mtimeMs
  )
}
