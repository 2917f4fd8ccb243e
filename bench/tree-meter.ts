import { readFileSync } from 'node:fs'
import { processTree } from '../test/support/processes.ts'

/** Reading a tree's memory takes the kernel about 25 ms on the measured cores. */
const SAMPLE_MS = 1_000

/** Meters a process tree: CPU time between two calls of `cpuMs`, and peak proportional memory (PSS). */
export function meterTree(pid: number): { cpuMs(): number; peakBytes(): number; stop(): void } {
  let peak = 0
  let last = treeCpuMs(pid)
  const sample = () => {
    peak = Math.max(peak, treeBytes(pid))
  }
  const timer = setInterval(sample, SAMPLE_MS)
  return {
    cpuMs() {
      const before = last
      last = treeCpuMs(pid)
      return last - before
    },
    peakBytes: () => peak,
    stop: () => clearInterval(timer),
  }
}

export function treeBytes(pid: number): number {
  return processTree(pid).reduce((sum, entry) => sum + proportionalMemory(entry.pid), 0)
}

/** Parents that waited for ended children include their time. */
export function treeCpuMs(pid: number): number {
  return processTree(pid).reduce((sum, entry) => sum + entry.cpuMs, 0)
}

/** Bytes; shared memory is divided among its users. 0 for a process that has ended. */
export function proportionalMemory(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024
  } catch {
    return 0
  }
}
