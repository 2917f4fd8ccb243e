import { readFileSync, readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'

/** What a running PostgreSQL writes into its data directory (its source: pidfile.h). */
export type PidFile = {
  pid: number
  /** Where its Unix socket is; null while it is still starting. */
  socketDir: string | null
  ready: boolean
}

export function readPidFile(data: string): PidFile | null {
  let text: string
  try {
    text = readFileSync(path.join(data, 'postmaster.pid'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const [pid, , , , socketDir, , , status] = text.split('\n')
  // Written in one go, but not atomically.
  if (pid === undefined || !/^[1-9]\d*$/.test(pid)) return null
  return { pid: Number(pid), socketDir: socketDir || null, ready: status?.trim() === 'ready' }
}

/**
 * Who has the pid of the file now: nobody, a PostgreSQL that runs on `data`, or
 * a process that merely got the same number (usual after a container restart,
 * where pids begin at 1 again).
 */
export function holderOf(pid: number, data: string): 'nobody' | 'postgres' | 'stranger' {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'nobody'
    // Alive, but of another user; PostgreSQL on our data has ours.
    return 'stranger'
  }
  try {
    // PostgreSQL works in its data directory, and its first argument is its own path.
    const [command = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const inData = readlinkSync(`/proc/${pid}/cwd`) === realpathSync(data)
    return inData && path.basename(command) === 'postgres' ? 'postgres' : 'stranger'
  } catch {
    // Gone in between, a zombie, or not ours to look at: no server of ours, but
    // perhaps still a number that the next PostgreSQL finds taken.
    return 'stranger'
  }
}
