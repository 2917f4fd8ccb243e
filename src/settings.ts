import { type AllowedRange, parseAllowedRange } from './address-range.ts'
import type { AddressRanges } from './http/client-address.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads single settings by their names. One that is present but malformed is a
 * problem, and gives its fallback; all problems are told at once.
 */
export function createSettings(env: Environment) {
  const problems: string[] = []
  const given = (name: string): string | null =>
    env[name] === undefined || env[name] === '' ? null : env[name]

  const integer = (name: string, fallback: number, range: { min: number; max: number }): number => {
    const raw = given(name)
    if (raw === null) return fallback
    const value = Number(raw)
    if (/^\d+$/.test(raw) && range.min <= value && value <= range.max) return value
    problems.push(`${name} must be a whole number in ${range.min}..${range.max}, got "${raw}"`)
    return fallback
  }
  const port = (name: string, fallback: number) => integer(name, fallback, { min: 0, max: 65_535 })

  const oneOf = <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
    const raw = given(name)
    if (raw === null) return fallback
    if ((allowed as readonly string[]).includes(raw)) return raw as T
    problems.push(`${name} must be one of ${allowed.join(', ')}, got "${raw}"`)
    return fallback
  }

  const url = (name: string, schemes: readonly string[]): string | null => {
    const raw = given(name)
    if (raw === null) return null
    if (URL.canParse(raw) && schemes.includes(new URL(raw).protocol)) return raw
    // The value may hold a password: it is not repeated.
    problems.push(
      `${name} must be a URL beginning with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`,
    )
    return null
  }

  /** What `parse` makes of it; `words` say what it must be, and never repeat a secret. */
  const parsed = <T>(
    name: string,
    parse: (raw: string) => T | null,
    words: (raw: string) => string,
  ): T | null => {
    const raw = given(name)
    if (raw === null) return null
    const value = parse(raw)
    if (value === null) problems.push(words(raw))
    return value
  }

  /** Of a list with commas, each that can be read. */
  const ranges = (
    name: string,
    raw: string,
    words: string,
    fits: (range: AllowedRange) => boolean,
  ): AllowedRange[] =>
    raw
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '')
      .flatMap((entry) => {
        const range = parseAllowedRange(entry)
        if (range !== null && fits(range)) return [range]
        problems.push(`${name} takes ${words}, got "${entry}"`)
        return []
      })

  const allowedRanges = (name: string): AllowedRange[] =>
    ranges(name, given(name) ?? '', 'CIDR or CIDR:port', () => true)

  const addressRanges = (name: string, fallback: string): AddressRanges => {
    const raw = given(name) ?? fallback
    const found = ranges(name, raw === 'none' ? '' : raw, 'addresses or CIDR', ({ port }) => port === null)
    return found.map(({ cidr }) => cidr)
  }

  return { problems, given, integer, port, oneOf, url, parsed, allowedRanges, addressRanges }
}

export type Settings = ReturnType<typeof createSettings>
