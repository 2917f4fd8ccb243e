import { readFileSync } from 'node:fs'

import { renderersOfGroup } from './process-group.ts'

/** Ends single pages of one browser that take too much memory. */
export type MemoryWatch = {
  /** Whether a page that has just died was ended here. Each end is told once. */
  hasEnded(): boolean
  stop(): void
}

/** A page that takes what it can gets some 500 MB a second. */
const LOOK_EVERY_MS = 100
/** A killed process is missed by Chromium at once; on a very busy machine a little later. */
const TOLD_WITHIN_LOOKS = 50
const PAGE_BYTES = 4_096

/**
 * Looks at every page's process of a browser, by its group, and kills the one
 * that is over the limit. Nothing else would stop it in time: the pages of other
 * domains have processes of their own, and go on. V8's own limit does not know
 * buffers and documents, and the kernel's (RLIMIT_DATA) was seen not to hold
 * Chromium's allocator: 4.5 GB under a limit of 1.5. Looks at /proc, so on Linux only.
 */
export function watchMemory(groupId: number, limitBytes: number): MemoryWatch {
  const renderers = renderersOfGroup(groupId)
  /** How many looks each end may still be told for. */
  let untold: number[] = []
  /** Those that are killed need a moment to be gone: for how many looks they are left alone. */
  const dying = new Map<number, number>()

  const look = () => {
    untold = untold.map((looks) => looks - 1).filter((looks) => looks > 0)
    for (const [pid, looks] of dying) {
      if (looks > 1) dying.set(pid, looks - 1)
      else dying.delete(pid)
    }
    for (const pid of renderers()) {
      if (dying.has(pid) || residentBytes(pid) <= limitBytes) continue
      try {
        process.kill(pid, 'SIGKILL')
        untold.push(TOLD_WITHIN_LOOKS)
        dying.set(pid, TOLD_WITHIN_LOOKS)
      } catch {
        // It has ended by itself meanwhile.
      }
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  return {
    hasEnded: () => untold.shift() !== undefined,
    stop: () => clearInterval(timer),
  }
}

/** proc_pid_statm(5); 0 for a process that has ended. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 2)[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}
