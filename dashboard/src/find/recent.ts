const STORED = 'prepaint.recently-used'
const MOST = 12

/** The keys of what was opened by searching, last first. It is kept in this browser only. */
export function recentlyUsed(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]')
    return Array.isArray(kept) ? kept.map(String) : []
  } catch {
    return []
  }
}

export function rememberUse(key: string): void {
  const kept = [key, ...recentlyUsed().filter((other) => other !== key)].slice(0, MOST)
  try {
    localStorage.setItem(STORED, JSON.stringify(kept))
  } catch {
    // Without storage nothing is recent.
  }
}
