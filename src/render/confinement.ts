import { existsSync } from 'node:fs'

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
 * capability). Linux only; elsewhere the program as it is.
 */
export function confined(
  executable: string,
  args: readonly string[],
  sandbox: Sandbox,
): { file: string; args: string[] } {
  if (process.platform !== 'linux') return { file: executable, args: [...args] }
  const { openFiles, fileBytes } = BROWSER_RLIMITS
  // A limit that is lower already stays; that is no reason not to start.
  const limits = `ulimit -c 0; ulimit -n ${openFiles}; ulimit -f ${fileBytes / BLOCK_BYTES}`
  // With its sandbox on Chromium does so itself, after its set-user-id helper, where it needs one.
  const noNewPrivileges = sandbox === 'off' && SETPRIV !== undefined ? [SETPRIV, '--no-new-privs', '--'] : []
  return {
    file: '/bin/sh',
    args: ['-c', `{ ${limits}; } 2>/dev/null; exec "$@"`, 'sh', ...noNewPrivileges, executable, ...args],
  }
}
