import { existsSync } from 'node:fs'
import { hiding, type View } from '../tab/own-view.ts'
import type { Sandbox } from './browser-process.ts'

/**
 * What the kernel holds a browser to, whatever its pages make of it. Memory is
 * not among it: see `memory-watch.ts`.
 */
export const BROWSER_RLIMITS = {
  /** Open files and sockets of one process; Chromium's own wish. */
  openFiles: 8_192,
  /** Of one file that it writes, shared memory too. */
  fileBytes: 1024 * 1024 * 1024,
} as const

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find((file) => existsSync(file))
/** dash and bash count files in blocks of 512 bytes when they are called `sh`. */
const BLOCK_BYTES = 512

/**
 * The command that starts a program with the limits above, without core dumps
 * and, where Chromium's own sandbox does not do it, so that neither it nor
 * anything it starts can gain a privilege (no set-user-id program, no file
 * capability). With a `view`, it is shown no more than that of the file system.
 * Linux only; elsewhere the program as it is.
 */
export function confined(
  executable: string,
  args: readonly string[],
  sandbox: Sandbox,
  view: View | null = null,
): { file: string; args: string[] } {
  if (process.platform !== 'linux') return { file: executable, args: [...args] }
  const { openFiles, fileBytes } = BROWSER_RLIMITS
  // A limit that is lower already stays; that is no reason not to start.
  const limits = `ulimit -c 0; ulimit -n ${openFiles}; ulimit -f ${fileBytes / BLOCK_BYTES}`
  // With its sandbox on Chromium does so itself, after its set-user-id helper, where it needs one.
  const noNewPrivileges = sandbox === 'off' && SETPRIV !== undefined ? [SETPRIV, '--no-new-privs', '--'] : []
  const before = view === null ? noNewPrivileges : hiding(view)
  return {
    file: '/bin/sh',
    args: ['-c', `{ ${limits}; } 2>/dev/null; exec "$@"`, 'sh', ...before, executable, ...args],
  }
}
