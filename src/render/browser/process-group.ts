import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * What Linux tells about the processes of one group: a browser and all its
 * children. On other systems the lists are empty and the sums zero.
 */
type ProcessInGroup = { pid: number; commandLine: string }

export function processesOfGroup(groupId: number): ProcessInGroup[] {
  return pids().flatMap((pid) => {
    if (groupOf(pid) !== groupId) return []
    return [{ pid, commandLine: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() }]
  })
}

/** USER_HZ of proc_pid_stat(5), the same on every Linux that Node runs on. */
const MS_PER_TICK = 10

/** A renderer begins as a copy of Chromium's zygote, and is called that for a moment: after so many looks it is one for good. */
const LOOKS_UNTIL_SURE = 20
/** Every so many looks is one at all processes of the machine; the others at the children of zygotes, which pages are. */
const LOOKS_UNTIL_ALL = 10

/**
 * Gives the processes of the group that hold pages, each time it is called. Made
 * for being called often: whose a process is, is read once, and what it is only
 * until that is sure. A page that is no child of a zygote is seen now and then.
 */
export function renderersOfGroup(groupId: number): () => number[] {
  type Known = { isOfGroup: boolean; type: string; looks: number }
  let known = new Map<number, Known>()
  let looks = 0
  const tellsChildren = existsSync(childrenFile(process.pid))

  const look = (pid: number): Known => {
    const one = known.get(pid) ?? { isOfGroup: groupOf(pid) === groupId, type: '', looks: 0 }
    if (!one.isOfGroup || one.type === 'renderer' || one.looks++ > LOOKS_UNTIL_SURE) return one
    one.type = TYPE.exec(read(`/proc/${pid}/cmdline`))?.[1] ?? ''
    return one
  }
  const ofType = (type: string) => [...known].filter(([, one]) => one.type === type).map(([pid]) => pid)

  return () => {
    const zygotes = ofType('zygote')
    if (!tellsChildren || zygotes.length === 0 || looks++ % LOOKS_UNTIL_ALL === 0) {
      known = new Map(pids().map((pid) => [pid, look(pid)]))
      return ofType('renderer')
    }
    const children = zygotes.flatMap(childrenOf)
    for (const pid of children) known.set(pid, look(pid))
    return children.filter((pid) => known.get(pid)?.type === 'renderer')
  }
}

const TYPE = /--type=([a-z-]+)/

/** Private memory of the whole group in bytes, and what it shares counted once for each sharer's part. */
export function memoryOfGroupBytes(groupId: number): number {
  let kilobytes = 0
  for (const { pid } of processesOfGroup(groupId)) {
    const rollup = read(`/proc/${pid}/smaps_rollup`)
    kilobytes += Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0)
  }
  return kilobytes * 1024
}

/** Whether the kernel filters the system calls of a process (seccomp), as Chromium's sandbox makes it do. */
export function hasSystemCallFilter(pid: number): boolean {
  return /^Seccomp:\s+2$/m.test(read(`/proc/${pid}/status`))
}

/** Ends every process of a group at once. A group that is gone already is no error. */
export function killGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Processor time that a process has had so far, with what it asked of the kernel; 0: there is no such process. */
export function processorMsOf(pid: number): number {
  const [user, system] = fieldsOf(pid).slice(11, 13).map(Number)
  return ((user ?? 0) + (system ?? 0)) * MS_PER_TICK
}

/** The letter of proc_pid_stat(5): `Z` has ended, and its parent has not asked. null: there is no such process. */
export function stateOf(pid: number): string | null {
  return fieldsOf(pid)[0] || null
}

function groupOf(pid: number): number {
  return Number(fieldsOf(pid)[2])
}

/** Fields after the name, which stands in brackets and may hold anything: state, parent, group. */
function fieldsOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Of a process with one thread, as a zygote is. Not every kernel has it. */
function childrenFile(pid: number): string {
  return `/proc/${pid}/task/${pid}/children`
}

function childrenOf(pid: number): number[] {
  return read(childrenFile(pid)).split(' ').filter(Boolean).map(Number)
}

function pids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

/** Empty for a process that has just ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
