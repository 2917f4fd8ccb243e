import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

import type { Sandbox } from './browser-process.ts'

export const BROWSER_RLIMITS = {
  openFiles: 8_192,
  fileBytes: 1024 * 1024 * 1024,
  /** Chromium lays out nested boxes by recursion, about 5 KiB for each: 8 MiB end at 1,500 boxes. */
  stackBytes: 64 * 1024 * 1024,
} as const

/** People and hits go first. */
export const LOWER_PRIORITY = 10

const KIB = 1024

/** dash and bash count blocks of 512 bytes when they run as `sh`. */
const BLOCK_BYTES = 512

const UNSHARE = ['/usr/bin/unshare', '/bin/unshare'].find((file) => existsSync(file))
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find((file) => existsSync(file))

/** Applies limits, lowers the priority, disables core dumps and new privileges, and hides files outside `view`. Linux only. */
export function confined(
  executable: string,
  args: readonly string[],
  sandbox: Sandbox,
  view: FileView | null = null,
): { file: string; args: string[] } {
  if (process.platform !== 'linux') return { file: executable, args: [...args] }
  const { openFiles, fileBytes, stackBytes } = BROWSER_RLIMITS
  // A hard limit that is already lower must not prevent the start.
  const limits = `ulimit -c 0; ulimit -n ${openFiles}; ulimit -f ${fileBytes / BLOCK_BYTES}; ulimit -S -s ${stackBytes / KIB}`
  // With the sandbox on, Chromium sets this itself after its set-user-id helper.
  const noNewPrivileges = sandbox === 'off' && SETPRIV !== undefined ? [SETPRIV, '--no-new-privs', '--'] : []
  const before = view === null ? noNewPrivileges : commandWithView(view)
  return {
    file: '/bin/sh',
    args: [
      '-c',
      `{ ${limits}; renice -n ${LOWER_PRIORITY} $$; } 2>/dev/null; exec "$@"`,
      'sh',
      ...before,
      executable,
      ...args,
    ],
  }
}

export type FileView = {
  program: string
  home: string
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
 * In new user, mount and process namespaces, mounts empty file systems over hidden directories, then drops
 * capabilities. Opens the browser's own directories first, because they lie below hidden ones.
 */
const SCRIPT = `set -e
exec 8<"$1" 9<"$2"; program=$1 home=$2; shift 2
while [ "$1" != -- ]; do mount -t tmpfs -o size=256m,mode=0755 none "$1"; shift; done; shift
mkdir -p "$program" "$home"
mount -c --bind /proc/self/fd/8 "$program"; mount -c --bind /proc/self/fd/9 "$home"
mount -c -o remount,bind,ro "$program"
exec 8<&- 9<&-
exec "$@"`

/** Try `canHideFiles` first. */
export function commandWithView({ program, home, hidden }: FileView): string[] {
  return [
    UNSHARE ?? 'unshare',
    '--user',
    '--map-root-user',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    '--',
    '/bin/sh',
    '-c',
    SCRIPT,
    'sh',
    program,
    home,
    ...hidden,
    '--',
    SETPRIV ?? 'setpriv',
    '--no-new-privs',
    '--inh-caps=-all',
    '--bounding-set=-all',
    '--',
  ]
}

export function canHideFiles(view: FileView): boolean {
  if (process.platform !== 'linux' || UNSHARE === undefined || SETPRIV === undefined) return false
  const [file, ...args] = [...commandWithView(view), '/bin/true']
  return spawnSync(file!, args, { stdio: 'ignore', timeout: 5_000 }).status === 0
}
