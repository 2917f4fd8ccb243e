const STORED = 'prepaint.recently-used'
const MOST = 12

/** What one person opened by searching. The next one to sign in sees nothing of it. */
type Kept = { person: number; keys: string[] }

/** The keys of what the person opened by searching, last first. They are kept in this browser until the sign-out. */
export function recentlyUsed(person: number): string[] {
  const kept = stored()
  return kept?.person === person ? kept.keys : []
}

export function rememberUse(person: number, key: string): void {
  const others = recentlyUsed(person).filter((other) => other !== key)
  const kept: Kept = { person, keys: [key, ...others].slice(0, MOST) }
  try {
    localStorage.setItem(STORED, JSON.stringify(kept))
  } catch {
    // Without storage nothing is recent.
  }
}

/** Call when the session ends. */
export function forgetUses(): void {
  try {
    localStorage.removeItem(STORED)
  } catch {
    // Without storage there is nothing to forget.
  }
}

/** Null: nothing, or what an earlier version kept without its person. */
function stored(): Kept | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORED) ?? 'null')
    if (typeof kept !== 'object' || kept === null || !('person' in kept) || !('keys' in kept)) return null
    const { person, keys } = kept
    if (typeof person !== 'number' || !Array.isArray(keys)) return null
    return { person, keys: keys.map(String) }
  } catch {
    return null
  }
}
