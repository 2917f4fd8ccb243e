import { type ProcessEntry, processesOf } from '../support/processes.ts'
import { pick, type Random } from './seeded-random.ts'

export const TARGETS = ['node', 'chromium', 'postgres'] as const
export type Target = (typeof TARGETS)[number]

/** The processes of a running node that are of one kind. Any of them may die in an out-of-memory kill. */
export function victimsOf(target: Target, dataDir: string, nodePid: number): ProcessEntry[] {
  if (target === 'node') return processesOf(dataDir).filter(({ pid }) => pid === nodePid)
  const pattern = target === 'postgres' ? /(^|\/)postgres\b/ : /chrom/
  return processesOf(dataDir).filter(
    ({ pid, command }) => pid !== nodePid && pattern.test(command.split(' ')[0] ?? ''),
  )
}

/** Kills one process of the kind with signal 9; gives what it was, null when there was none. */
export function killOne(target: Target, dataDir: string, nodePid: number, random: Random): string | null {
  const victims = victimsOf(target, dataDir, nodePid)
  if (victims.length === 0) return null
  const victim = pick(random, victims)
  try {
    process.kill(victim.pid, 'SIGKILL')
  } catch {
    return null // It ended by itself between the look and the shot.
  }
  return `${victim.pid} ${victim.command.slice(0, 80)}`
}
