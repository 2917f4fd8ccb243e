import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

import type { Sandbox } from './browser-process.ts'

/** Kernel limits of the browser's processes. Memory is not among them: see `watchMemory`. */
export const BROWSER_RLIMITS = {
  openFiles: 8_192,
  /** Size of one file that it writes, shared memory included. */
  fileBytes: 1024 * 1024 * 1024,
} as const

/** dash and bash count files in blocks of 512 bytes when they are called `sh`. */
const BLOCK_BYTES = 512

const UNSHARE = ['/usr/bin/unshare', '/bin/unshare'].find((file) => existsSync(file))
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find((file) => existsSync(file))

/**
 * The command that starts a browser with the limits above, without core dumps and, where Chromium's own sandbox does
 * not see to it, unable to gain privileges. With a `view`, it sees only that part of the file system. Linux only;
 * elsewhere the plain command.
 */
export function confined(
  executable: string,
  args: readonly string[],
  sandbox: Sandbox,
  view: FileView | null = null,
): { file: string; args: string[] } {
  if (process.platform !== 'linux') return { file: executable, args: [...args] }
  const { openFiles, fileBytes } = BROWSER_RLIMITS
  // A hard limit that is lower already stays, and is no reason not to start.
  const limits = `ulimit -c 0; ulimit -n ${openFiles}; ulimit -f ${fileBytes / BLOCK_BYTES}`
  // With its sandbox on, Chromium does so itself, after its set-user-id helper.
  const noNewPrivileges = sandbox === 'off' && SETPRIV !== undefined ? [SETPRIV, '--no-new-privs', '--'] : []
  const before = view === null ? noNewPrivileges : commandWithView(view)
  return {
    file: '/bin/sh',
    args: ['-c', `{ ${limits}; } 2>/dev/null; exec "$@"`, 'sh', ...before, executable, ...args],
  }
}

/** What a browser that runs as our own user sees of the file system. */
export type FileView = {
  /** The browser's program, read-only. */
  program: string
  /** The browser's own files, writable. */
  home: string
  /** Directories that it sees empty: the data directory, the user's home, /tmp. */
  hidden: readonly string[]
}

export function viewOf(dataDir: string, executable: string, home: string): FileView {
  const unpacked = path.join(path.resolve(dataDir), 'chromium')
  const wanted = [path.resolve(dataDir), '/tmp', homedir()].filter((dir) => dir !== '/' && existsSync(dir))
  return {
    program: executable.startsWith(`${unpacked}/`) ? unpacked : path.dirname(executable),
    home,
    hidden: wanted.filter((dir, at) =>
      wanted.every(
        (other, place) => place === at || (other === dir ? place > at : !dir.startsWith(`${other}/`)),
      ),
    ),
  }
}

/**
 * Runs in new user, mount and process namespaces: mounts empty file systems over the hidden directories, and the two
 * own directories back in their places. Both are held open first, because they lie below what is hidden. Then drops
 * every capability, so nothing can be unmounted again.
 */
const SCRIPT = `set -e
exec 8<"$1" 9<"$2"; program=$1 home=$2; shift 2
while [ "$1" != -- ]; do mount -t tmpfs -o size=256m,mode=0755 none "$1"; shift; done; shift
mkdir -p "$program" "$home"
mount -c --bind /proc/self/fd/8 "$program"; mount -c --bind /proc/self/fd/9 "$home"
mount -c -o remount,bind,ro "$program"
exec 8<&- 9<&-
exec "$@"`

/** Put before a command, shows it only that view. Try `canHideFiles` first. */
export function commandWithView({ program, home, hidden }: FileView): string[] {
  return [
    UNSHARE ?? 'unshare',
    ...['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
    ...['/bin/sh', '-c', SCRIPT, 'sh', program, home, ...hidden, '--'],
    ...[SETPRIV ?? 'setpriv', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--'],
  ]
}

/** Whether this machine lets an ordinary user hide files from the browser. Tries it. */
export function canHideFiles(view: FileView): boolean {
  if (process.platform !== 'linux' || UNSHARE === undefined || SETPRIV === undefined) return false
  const [file, ...args] = [...commandWithView(view), '/bin/true']
  return spawnSync(file!, args, { stdio: 'ignore', timeout: 5_000 }).status === 0
}
