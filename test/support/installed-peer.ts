import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/**
 * Installs a peer on first use without install scripts. Throws on failure. Has its own lock file: npm 9 (Debian 12)
 * cannot read the overrides that a shared manifest would need.
 */
export function installedPeer(peer: string) {
  const folder = path.resolve(import.meta.dirname, '../peers', peer)
  const changedMs = (file: string) =>
    statSync(path.join(folder, file), { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (changedMs('node_modules/.package-lock.json') < changedMs('package-lock.json')) {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--loglevel=error']
    const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`npm ci in test/peers/${peer}: ${stderr}`)
  }
  return {
    require: createRequire(path.join(folder, 'package.json')),
    folderOf: (name: string) => path.join(folder, 'node_modules', name),
  }
}
