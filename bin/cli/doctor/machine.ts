import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import path from 'node:path'

import { browserUser } from '@prepaint/runtime/system-user.ts'
/** A `warning` says that it works, but not as well or as safely as it could. */
export type CheckResult = {
  name: string
  state: 'ok' | 'warning' | 'problem'
  found: string
  advice: string | null
}

export function ok(name: string, found: string): CheckResult {
  return { name, state: 'ok', found, advice: null }
}

export function warning(name: string, found: string, advice: string): CheckResult {
  return { name, state: 'warning', found, advice }
}

export function problem(name: string, found: string, advice: string): CheckResult {
  return { name, state: 'problem', found, advice }
}

const MIB = 1024 * 1024
const NODE_MAJOR = 24
const MEMORY_MIB = { problem: 400, warning: 1_000 }
const PLAIN_MEMORY_MIB = 256
const DISK_MIB = { problem: 300, warning: 2_000 }

export function nodeVersion(version: string): CheckResult {
  return Number(version.split('.')[0]) >= NODE_MAJOR
    ? ok('Node', version)
    : problem(
        'Node',
        version,
        `Install Prepaint again without --omit=optional: that installs Node ${NODE_MAJOR}`,
      )
}

/** A node needs 100 MB, PostgreSQL 50, Chromium 200, a slot 50 to 100. `slots` 0: no role `render`. */
export function memory(availableBytes: number, slots: number): CheckResult {
  const mib = Math.floor(availableBytes / MIB)
  if (slots === 0) return memoryWithoutBrowser(mib)
  const found = `${mib} MiB available, ${slots} pages rendered at once`
  if (mib < MEMORY_MIB.problem) {
    return problem('memory', found, `Use at least ${MEMORY_MIB.warning} MiB, or Chromium will be killed`)
  }
  if (mib < MEMORY_MIB.warning) {
    return warning('memory', found, 'Set PREPAINT_RENDER_SLOTS=1, or add memory')
  }
  return ok('memory', found)
}

function memoryWithoutBrowser(mib: number): CheckResult {
  const found = `${mib} MiB available, this node does not render`
  if (mib >= PLAIN_MEMORY_MIB) return ok('memory', found)
  return problem('memory', found, `Use at least ${PLAIN_MEMORY_MIB} MiB`)
}

export function dataDirectory(dir: string): CheckResult {
  const there = existsSync(dir)
  let parent = dir
  while (!existsSync(parent)) parent = path.dirname(parent)
  try {
    accessSync(parent, constants.W_OK | constants.X_OK)
  } catch {
    const owner = `owned by user id ${statSync(parent).uid}`
    return problem(
      'data directory',
      `${parent} is ${owner} and not writable for this user`,
      'Run as that user, or set PREPAINT_DATA_DIR to your own directory',
    )
  }
  const { mode, uid } = statSync(parent)
  if (there && uid !== process.getuid?.() && process.getuid?.() !== 0) {
    return problem('data directory', `${dir} belongs to user id ${uid}`, `chown it, or run as that user`)
  }
  if (there && (mode & 0o022) !== 0) {
    const found = `${dir} has mode ${(mode & 0o777).toString(8)}: others can write into it`
    return problem('data directory', found, `chmod go-w ${dir}`)
  }
  return ok('data directory', there ? `${dir} is writable` : `${dir} will be created at the first start`)
}

export function diskSpace(dir: string): CheckResult {
  let at = dir
  while (!existsSync(at)) at = path.dirname(at)
  const { bavail, bsize } = statfsSync(at)
  const mib = Math.floor((bavail * bsize) / MIB)
  const found = `${mib} MiB free at ${at}`
  const advice = 'Free some space for stored pages, PostgreSQL and Chromium'
  if (mib < DISK_MIB.problem) return problem('disk', found, advice)
  return mib < DISK_MIB.warning ? warning('disk', found, advice) : ok('disk', found)
}

/** Required by Chromium's sandbox. Tested by trying, because several kernel settings decide together. */
export function userNamespaces(): CheckResult {
  const user = browserUser()
  const { status, error, stderr } = spawnSync('unshare', ['--user', '--', 'true'], {
    encoding: 'utf8',
    cwd: '/',
    ...user,
  })
  if (status === 0) return ok('user namespaces', 'an unprivileged user can create one')
  if (error !== undefined) {
    return warning(
      'user namespaces',
      'cannot be checked without the command "unshare"',
      'apt-get install util-linux',
    )
  }
  return warning(
    'user namespaces',
    stderr.trim().split('\n')[0] ?? 'refused',
    "Chromium's sandbox needs them: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 kernel.apparmor_restrict_unprivileged_userns=0 (those that exist in this kernel); in a container, allow the system call unshare",
  )
}
