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
