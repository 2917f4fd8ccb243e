import type { Preferences } from '@prepaint/contract/settings/domain-settings.ts'
import { membersOf, VOCABULARIES } from '@prepaint/contract/site-files/robots-text.ts'

/** What an owner prefers, or a page's origin says: the values of each field, and both as headers. */
export type Usage = { values: readonly (readonly string[])[]; headers: readonly string[] }

const FIELDS = VOCABULARIES.map(({ field }) => field)
const NONE: readonly string[] = []

/** Returns null if nothing is said. */
function usageOf(values: Usage['values']): Usage | null {
  const headers = FIELDS.flatMap((field, at) => {
    const value = values[at]!.join(', ')
    return value === '' ? [] : [field, value]
  })
  return headers.length === 0 ? null : { values, headers }
}

export function ownUsage(preferences: Preferences): Usage | null {
  return usageOf(VOCABULARIES.map((vocabulary) => membersOf(preferences, vocabulary)))
}

/** Splits the fields off a flat list of headers. */
export function originUsage(flat: readonly string[]): { others: string[]; usage: Usage | null } {
  const others: string[] = []
  const said: string[][] = FIELDS.map(() => [])
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at]!
    const value = flat[at + 1]!
    const values = said[FIELDS.findIndex((field) => field.toLowerCase() === name.toLowerCase())]
    if (values === undefined) others.push(name, value)
    else values.push(value)
  }
  return { others, usage: usageOf(said) }
}

/** Returns one header for each field. The owner's members replace the origin's of the same name. */
export function usageHeaders(own: Usage | null, origin: Usage | null): readonly string[] {
  if (own === null || origin === null) return (own ?? origin)?.headers ?? NONE
  const nameOf = (member: string) => member.split('=', 1)[0]!.trim().toLowerCase()
  const merged = own.values.map((members, at) => {
    const names = new Set(members.map(nameOf))
    const said = origin.values[at]!.flatMap((value) => value.split(',')).map((member) => member.trim())
    return [...said.filter((member) => member !== '' && !names.has(nameOf(member))), ...members]
  })
  return usageOf(merged)?.headers ?? NONE
}
