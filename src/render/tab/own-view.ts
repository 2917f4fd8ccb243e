import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

/** What a browser that is no other user than we are is shown of the file system. */
export type View = {
  /** Its program; can be read. */
  program: string
  /** Its own files; can be read and written. */
  home: string
  /** Is not there: the data directory, the user's own directory, what others leave in /tmp. */
  hidden: readonly string[]
}

const UNSHARE = ['/usr/bin/unshare', '/bin/unshare'].find((file) => existsSync(file))
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find((file) => existsSync(file))

/**
 * Runs in user, mount and process namespaces of its own: empty file systems over
 * what is hidden, its own two directories back in their places. All of it is
 * held open first, as it lies below what is hidden. Then every capability goes,
 * and with it the way back.
 */
const SCRIPT = `set -e
exec 8<"$1" 9<"$2"; program=$1 home=$2; shift 2
while [ "$1" != -- ]; do mount -t tmpfs -o size=256m,mode=0755 none "$1"; shift; done; shift
mkdir -p "$program" "$home"
mount -c --bind /proc/self/fd/8 "$program"; mount -c --bind /proc/self/fd/9 "$home"
mount -c -o remount,bind,ro "$program"
exec 8<&- 9<&-
exec "$@"`

export function viewOf(dataDir: string, executable: string, home: string): View {
  const unpacked = path.join(path.resolve(dataDir), 'chromium')
  const wanted = [path.resolve(dataDir), '/tmp', homedir()].filter((dir) => dir !== '/' && existsSync(dir))
  return {
    program: executable.startsWith(`${unpacked}/`) ? unpacked : path.dirname(executable),
    home,
    // What lies in another of them has gone with it.
    hidden: wanted.filter((dir, at) =>
      wanted.every(
        (other, place) => place === at || (other === dir ? place > at : !dir.startsWith(`${other}/`)),
      ),
    ),
  }
}

/** What to put before a command so that it is shown only that; it must have worked once, see `canHide`. */
export function hiding({ program, home, hidden }: View): string[] {
  return [
    UNSHARE ?? 'unshare',
    ...['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
    ...['/bin/sh', '-c', SCRIPT, 'sh', program, home, ...hidden, '--'],
    ...[SETPRIV ?? 'setpriv', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--'],
  ]
}

/** Whether this machine lets an ordinary user do so. Tries it. */
export function canHide(view: View): boolean {
  if (process.platform !== 'linux' || UNSHARE === undefined || SETPRIV === undefined) return false
  const [file, ...args] = [...hiding(view), '/bin/true']
  return spawnSync(file!, args, { stdio: 'ignore', timeout: 5_000 }).status === 0
}
