import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** What one look at the machine found. `warning`: it works, but not as well or as safely as it could. */
export type Finding = {
  name: string
  state: 'ok' | 'warning' | 'problem'
  found: string
  /** What to do about it; null where nothing is to be done. */
  advice: string | null
}

export function ok(name: string, found: string): Finding {
  return { name, state: 'ok', found, advice: null }
}

export function warning(name: string, found: string, advice: string): Finding {
  return { name, state: 'warning', found, advice }
}

export function problem(name: string, found: string, advice: string): Finding {
  return { name, state: 'problem', found, advice }
}

/**
 * Runs `work` with the data directory where there is one already (`exists`),
 * else with a temporary one that is removed: looking leaves nothing behind.
 * It lets PostgreSQL's and Chromium's users through, as a data directory does;
 * a closed one would send them to another place, which would stay.
 */
export async function withTrialDirectory<T>(
  dataDir: string,
  exists: boolean,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  if (exists) return work(dataDir)
  const trial = mkdtempSync(path.join(tmpdir(), 'prepaint-doctor-'))
  chmodSync(trial, 0o711)
  try {
    return await work(trial)
  } finally {
    rmSync(trial, { recursive: true, force: true })
  }
}
