import { spawnSync } from 'node:child_process'

/**
 * Whether a program that a test tries us with is on this machine. Where all
 * tests must run (`PREPAINT_TEST_PEERS` is set, see `.ci/run`) its absence is an error that says what to
 * install; elsewhere nothing but what npm brings is asked for.
 */
export function hasProgram(name: string, aptPackage: string): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
  if (!found && process.env['PREPAINT_TEST_PEERS'] !== undefined) {
    throw new Error(`${name} is not installed: apt-get install ${aptPackage}`)
  }
  return found
}
