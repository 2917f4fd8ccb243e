import { pick, type Random } from '../chaos/seeded-random.ts'
import { type ProcessEntry, processesOf } from '../support/processes.ts'

/** What a browser consists of. Any of its processes may be the one that the kernel takes when memory is short. */
export const PARTS = ['page', 'browser', 'zygote', 'gpu', 'network'] as const
export type Part = (typeof PARTS)[number]

const SIGNS: Record<Part, (command: string) => boolean> = {
  page: (command) => command.includes('--type=renderer'),
  browser: (command) => command.includes('--remote-debugging-pipe') && !command.includes('--type='),
  zygote: (command) => command.includes('--type=zygote'),
  gpu: (command) => command.includes('--type=gpu-process'),
  network: (command) => command.includes('network.mojom.NetworkService'),
}

/** Pages die most often, of themselves too; a whole browser now and then. */
const WEIGHTED: readonly Part[] = [
  ...Array<Part>(6).fill('page'),
  'browser',
  'zygote',
  'gpu',
  'network',
  'network',
]

export function partsOfBrowsers(dataDir: string, part: Part): ProcessEntry[] {
  return processesOf(dataDir).filter(({ command }) => SIGNS[part](command))
}

/** SIGKILL to one process of a part that chance names; null when there was none of it. */
export function killOnePart(dataDir: string, random: Random): Part | null {
  const part = pick(random, WEIGHTED)
  const victims = partsOfBrowsers(dataDir, part)
  if (victims.length === 0) return null
  try {
    process.kill(pick(random, victims).pid, 'SIGKILL')
    return part
  } catch {
    return null // It ended by itself between the look and the shot.
  }
}
