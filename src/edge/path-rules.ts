import type { PathRule } from '../accounts/domain-settings.ts'
import { matchesWhole, parseGlob } from './glob.ts'

/** The first of a domain's rules that matches the stored path; null: none does. */
export function ruleFor(rules: readonly PathRule[], path: string): PathRule | null {
  return rules.find((rule) => matchesWhole(parseGlob(rule.path), path)) ?? null
}
