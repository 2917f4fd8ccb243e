import { type AllowedRange, parseAllowedRange } from '@prepaint/outbound/address-range'
import type { AddressRanges } from '@prepaint/runtime/http/client-address.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** An empty value counts as missing. Collects all problems, using defaults, and does not repeat possible secrets. */
export class SettingsReader {
  readonly problems: string[] = []
  /** Defaults of all settings read; null: none, or it depends on the machine. */
  readonly defaults = new Map<string, string | number | null>()
  readonly #env: Environment

  constructor(env: Environment) {
    this.#env = env
  }

  given(name: string, fallback: string | number | null = null): string | null {
    this.defaults.set(name, fallback)
    return this.#env[name] || null
  }

  isGiven(name: string): boolean {
    return (this.#env[name] ?? '') !== ''
  }

  text(name: string, fallback: string): string {
    return this.given(name, fallback) ?? fallback
  }

  integer(name: string, fallback: number, range: { min: number; max: number }): number {
    const raw = this.given(name, fallback)
    if (raw === null) return fallback
    const value = Number(raw)
    if (/^\d+$/.test(raw) && range.min <= value && value <= range.max) return value
    this.problems.push(`${name} must be a whole number in ${range.min}..${range.max}, got "${raw}"`)
    return fallback
  }

  port(name: string, fallback: number): number {
    return this.integer(name, fallback, { min: 0, max: 65_535 })
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    const raw = this.given(name, fallback)
    if (raw === null) return fallback
    if ((allowed as readonly string[]).includes(raw)) return raw as T
    this.problems.push(`${name} must be one of ${allowed.join(', ')}, got "${raw}"`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    return this.oneOf(name, ['0', '1'], fallback ? '1' : '0') === '1'
  }

  url(name: string, schemes: readonly string[]): string | null {
    const words = `${name} must be a URL beginning with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`
    const parse = (raw: string) => (URL.canParse(raw) && schemes.includes(new URL(raw).protocol) ? raw : null)
    return this.parsed(name, parse, () => words)
  }

  /** An empty value switches it off: null. */
  urlOrOff(name: string, fallback: string, schemes: readonly string[]): string | null {
    if (this.#env[name] === '') {
      this.defaults.set(name, fallback)
      return null
    }
    const given = this.isGiven(name) ? this.url(name, schemes) : fallback
    this.defaults.set(name, fallback)
    return given
  }

  parsed<T>(name: string, parse: (raw: string) => T | null, problem: (raw: string) => string): T | null {
    const raw = this.given(name)
    if (raw === null) return null
    const value = parse(raw)
    if (value === null) this.problems.push(problem(raw))
    return value
  }

  allowedRanges(name: string): AllowedRange[] {
    return this.#ranges(name, this.given(name) ?? '', 'CIDR or CIDR:port', () => true)
  }

  addressRanges(name: string, fallback: string): AddressRanges {
    const raw = this.text(name, fallback)
    const list = raw === 'none' ? '' : raw
    return this.#ranges(name, list, 'addresses or CIDR', ({ port }) => port === null).map(({ cidr }) => cidr)
  }

  #ranges(name: string, list: string, words: string, fits: (range: AllowedRange) => boolean): AllowedRange[] {
    const entries = list.split(',').map((entry) => entry.trim())
    return entries
      .filter((entry) => entry !== '')
      .flatMap((entry) => {
        const range = parseAllowedRange(entry)
        if (range !== null && fits(range)) return [range]
        this.problems.push(`${name} takes ${words}, got "${entry}"`)
        return []
      })
  }
}
