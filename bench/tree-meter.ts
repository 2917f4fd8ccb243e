import { processTree, proportionalMemory } from '../test/support/processes.ts'

/** Reading the memory of a tree costs the kernel some 25 ms, on the cores that are being measured: often enough to see the peak, no more. */
const SAMPLE_MS = 1_000

/**
 * Meters a process and all below it: CPU time from one call of `cpuMs` to the
 * next, and the highest sum of proportional memory seen (PSS: shared pages of a
 * browser's processes count once).
 */
export function meterTree(pid: number): { cpuMs(): number; peakBytes(): number; stop(): void } {
  let peak = 0
  let last = totalCpuMs(pid)
  const sample = () => {
    const bytes = processTree(pid).reduce((sum, entry) => sum + proportionalMemory(entry.pid), 0)
    peak = Math.max(peak, bytes)
  }
  const timer = setInterval(sample, SAMPLE_MS)
  return {
    cpuMs() {
      const before = last
      last = totalCpuMs(pid)
      return last - before
    },
    peakBytes: () => peak,
    stop: () => clearInterval(timer),
  }
}

/** Ended children are in the sums of those that waited for them. */
function totalCpuMs(pid: number): number {
  return processTree(pid).reduce((sum, entry) => sum + entry.cpuMs, 0)
}
