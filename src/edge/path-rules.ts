import type { PathRule } from '../accounts/domain-settings.ts'

/** The first of a domain's rules that matches the stored path; null: none does. */
export function ruleFor(rules: readonly PathRule[], path: string): PathRule | null {
  return rules.find((rule) => matches(rule.path, path)) ?? null
}

/**
 * `*` stands for any characters, also none. In time linear in `path` for each
 * star: on a mismatch only the last star takes one character more, so that no
 * pattern of a customer can hold the edge up.
 */
function matches(pattern: string, path: string): boolean {
  let [at, star, resume, p] = [0, -1, 0, 0]
  while (at < path.length) {
    if (pattern[p] === '*') {
      star = p++
      resume = at
    } else if (p < pattern.length && pattern[p] === path[at]) {
      p++
      at++
    } else if (star !== -1) {
      p = star + 1
      at = ++resume
    } else return false
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
