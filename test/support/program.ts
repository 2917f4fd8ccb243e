import { spawnSync } from 'node:child_process'

/**
 * Whether a program that a test tries us with is on this machine. Where all
 * tests must run (`CI` is set) its absence is an error that says what to
 * install; elsewhere nothing but what npm brings is asked for.
 */
export function hasProgram(name: string, aptPackage: string): boolean {
  const found = spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
  if (!found && process.env['CI'] !== undefined) {
    throw new Error(`${name} is not installed: apt-get install ${aptPackage}`)
  }
  return found
}
