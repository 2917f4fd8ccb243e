import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export type ProcessEntry = {
  pid: number
  parent: number
  group: number
  state: string
  /** User and system time of itself and of the children it has waited for. */
  cpuMs: number
  /** Arguments joined with spaces; empty for a zombie. */
  command: string
}

const MS_PER_TICK = 10

export function listProcesses(): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readProcess(Number(name))]
      } catch {
        return [] // It ended between the listing and the reading.
      }
    })
}

/** `root` and its descendants, except those that pid 1 has adopted. */
export function processTree(root: number): ProcessEntry[] {
  const all = listProcesses()
  const tree = all.filter(({ pid }) => pid === root)
  for (let at = 0; at < tree.length; at += 1) {
    tree.push(...all.filter(({ parent }) => parent === tree[at]!.pid))
  }
  return tree
}

/** Processes with the directory in arguments, environment or working directory; no zombies, not this process. */
export function processesOf(dir: string): ProcessEntry[] {
  return listProcesses().filter(
    ({ pid, command }) => pid !== process.pid && (command.includes(dir) || isInside(pid, dir)),
  )
}

/** Includes whole process groups: children of a system browser do not name the directory. */
export function browserProcessesOf(dir: string): ProcessEntry[] {
  const own = processesOf(dir)
  const pids = new Set(own.map(({ pid }) => pid))
  const browsers = own.filter(({ command }) => command.includes('--remote-debugging-pipe'))
  const groups = new Set(browsers.map(({ group }) => group))
  return listProcesses().filter(
    ({ pid, group, state }) => pids.has(pid) || (groups.has(group) && state !== 'Z'),
  )
}

/** Only the main process, not Debian's start script. */
export function isBrowser({ command }: ProcessEntry): boolean {
  return command.includes('--remote-debugging-pipe') && !/--type=|^\S*\bsh /.test(command)
}

/** Fields of proc_pid_stat(5) by number; the command name in parentheses may hold spaces. */
function readProcess(pid: number): ProcessEntry {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => fields[number - 3] ?? ''
  return {
    pid,
    state: field(3),
    parent: Number(field(4)),
    group: Number(field(5)),
    cpuMs: [14, 15, 16, 17].reduce((sum, number) => sum + Number(field(number)), 0) * MS_PER_TICK,
    command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
  }
}

function isInside(pid: number, dir: string): boolean {
  const environment = orNothing(() => readFileSync(`/proc/${pid}/environ`, 'utf8'))
  const cwd = orNothing(() => readlinkSync(`/proc/${pid}/cwd`))
  return environment.includes(dir) || cwd === dir || cwd.startsWith(`${dir}/`)
}

/** A process may end at any moment. */
function orNothing(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
