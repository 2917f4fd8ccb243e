import { spawnSync } from 'node:child_process'

/** Whether a program is installed. Throws with its package name if `PREPAINT_TEST_PEERS` is set (see `.ci/run`). */
export function hasProgram(name: string, aptPackage: string): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
  if (!found && process.env['PREPAINT_TEST_PEERS'] !== undefined) {
    throw new Error(`${name} is not installed: apt-get install ${aptPackage}`)
  }
  return found
}
