import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/** On systems other than Linux, lists are empty and sums are zero. */
type ProcessInGroup = { pid: number; commandLine: string }

export function processesOfGroup(groupId: number): ProcessInGroup[] {
  return pids().flatMap((pid) => {
    if (groupOf(pid) !== groupId) return []
    return [{ pid, commandLine: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() }]
  })
}

/** The group may begin with a script, as Debian's does, or with `unshare`. */
export function mainProcessOf(groupId: number): number {
  const zygotes = processesOfGroup(groupId).filter(({ commandLine }) => commandLine.includes('--type=zygote'))
  const parents = zygotes.map(({ pid }) => Number(fieldsOf(pid)[1]))
  return parents.find((parent) => parent > 0 && !zygotes.some(({ pid }) => pid === parent)) ?? groupId
}

/** A renderer keeps the zygote's command line for a moment; it is final after so many reads. */
const READS_UNTIL_FINAL = 20
const CALLS_UNTIL_ALL = 10

/** Returns a function that lists the processes that hold pages. It is cheap to call often. */
export function renderersOfGroup(groupId: number): () => number[] {
  type Known = { isOfGroup: boolean; type: string; reads: number }
  let known = new Map<number, Known>()
  let calls = 0
  const hasChildrenFile = existsSync(childrenFile(process.pid))

  const examine = (pid: number): Known => {
    const one = known.get(pid) ?? { isOfGroup: groupOf(pid) === groupId, type: '', reads: 0 }
    if (!one.isOfGroup || one.type === 'renderer' || one.reads++ > READS_UNTIL_FINAL) return one
    one.type = TYPE.exec(read(`/proc/${pid}/cmdline`))?.[1] ?? ''
    return one
  }
  const ofType = (type: string) => [...known].filter(([, one]) => one.type === type).map(([pid]) => pid)

  return () => {
    const zygotes = ofType('zygote')
    if (!hasChildrenFile || zygotes.length === 0 || calls++ % CALLS_UNTIL_ALL === 0) {
      known = new Map(pids().map((pid) => [pid, examine(pid)]))
      return ofType('renderer')
    }
    const children = zygotes.flatMap(childrenOf)
    for (const pid of children) known.set(pid, examine(pid))
    return children.filter((pid) => known.get(pid)?.type === 'renderer')
  }
}

const TYPE = /--type=([a-z-]+)/

/** Bytes; shared memory is divided among its users. The kernel takes milliseconds for each process, so hits do not wait for it. */
export async function memoryOfGroupBytes(groupId: number): Promise<number> {
  let kilobytes = 0
  for (const { pid } of processesOfGroup(groupId)) {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
    kilobytes += Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0)
  }
  return kilobytes * 1024
}

/** proc_pid_statm(5); 0 for a process that has ended. */
export function residentBytes(pid: number): number {
  return Number(read(`/proc/${pid}/statm`).split(' ', 2)[1] ?? 0) * PAGE_BYTES
}

const PAGE_BYTES = 4_096

/** Returns whether seccomp filters the process, as in Chromium's sandbox. */
export function hasSystemCallFilter(pid: number): boolean {
  return /^Seccomp:\s+2$/m.test(read(`/proc/${pid}/status`))
}

export function killGroup(groupId: number): void {
  try {
    process.kill(-groupId, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits until nothing of a killed group runs, two seconds at most: a process needs a core to end. */
export async function untilGroupIsGone(groupId: number): Promise<void> {
  const isThere = (pid: number) => !['Z', 'X', ''].includes(fieldsOf(pid)[0] ?? '')
  let left = processesOfGroup(groupId).map(({ pid }) => pid)
  for (let tries = 0; tries < 200 && left.length > 0; tries++) {
    left = left.filter(isThere)
    if (left.length > 0) await delay(10)
  }
}

export function processorMsOf(pid: number): number {
  const [user, system] = fieldsOf(pid).slice(11, 13).map(Number)
  return ((user ?? 0) + (system ?? 0)) * MS_PER_TICK
}

/** Time the main thread ran or waited for a core; 0 if there is no such process. */
export function runnableMs(pid: number): number {
  const [ranNs = 0, waitedNs = 0] = read(`/proc/${pid}/schedstat`).split(' ').map(Number)
  return (ranNs + waitedNs) / 1e6
}

/** USER_HZ of proc_pid_stat(5), the same on every Linux that Node runs on. */
const MS_PER_TICK = 10

/** From `linux/sched.h`: the process is ending. Its pipes are closed a little before it becomes a zombie. */
const PF_EXITING = 0x4

export function isAlive(pid: number): boolean {
  const fields = fieldsOf(pid)
  const state = fields[0] || null
  return state !== null && state !== 'Z' && state !== 'X' && (Number(fields[6]) & PF_EXITING) === 0
}

function groupOf(pid: number): number {
  return Number(fieldsOf(pid)[2])
}

/** Fields after the name, which is in brackets and may hold anything: state, parent, group. */
function fieldsOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Reads the children of a process with one thread, such as a zygote. Some kernels lack this file. */
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

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
