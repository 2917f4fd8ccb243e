import { contentSignal, contentUsage, hasPreferences, membersText } from '../../site-files/robots-text.ts'
import type { Preferences } from '../../sites/domain-settings.ts'

type Members = readonly (readonly [name: string, value: string])[]

/** What the owner prefers: `headers` is the whole of it, for pages whose origin says nothing. */
export type OwnUsage = { signal: Members; usage: Members; headers: readonly string[] }

/** What a page's origin said; `headers` as it said it. */
export type OriginUsage = { signal: string; usage: string; headers: readonly string[] }

const NONE: readonly string[] = []

export function ownUsage(preferences: Preferences): OwnUsage | null {
  if (!hasPreferences(preferences)) return null
  const [signal, usage] = [contentSignal(preferences), contentUsage(preferences)]
  return { signal, usage, headers: fields(membersText(signal), membersText(usage)) }
}

/** Splits the two fields off a flat list of headers. */
export function originUsage(flat: readonly string[]): { others: string[]; usage: OriginUsage | null } {
  const others: string[] = []
  const said: Record<string, string[]> = { 'content-signal': [], 'content-usage': [] }
  for (let at = 0; at < flat.length; at += 2) {
    const values = said[flat[at]!.toLowerCase()]
    if (values === undefined) others.push(flat[at]!, flat[at + 1]!)
    else values.push(flat[at + 1]!)
  }
  const [signal, usage] = [said['content-signal']!.join(', '), said['content-usage']!.join(', ')]
  return {
    others,
    usage: signal === '' && usage === '' ? null : { signal, usage, headers: fields(signal, usage) },
  }
}

/** One field each. The owner's members replace the origin's of the same name. */
export function usageHeaders(own: OwnUsage | null, origin: OriginUsage | null): readonly string[] {
  if (own === null) return origin?.headers ?? NONE
  if (origin === null) return own.headers
  return fields(merged(own.signal, origin.signal), merged(own.usage, origin.usage))
}

function merged(own: Members, origin: string): string {
  const names = new Set(own.map(([name]) => name))
  const others = origin
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '' && !names.has(member.split('=', 1)[0]!.trim().toLowerCase()))
  return [...others, ...own.map(([name, value]) => `${name}=${value}`)].join(', ')
}

function fields(signal: string, usage: string): string[] {
  const headers = signal === '' ? [] : ['Content-Signal', signal]
  if (usage !== '') headers.push('Content-Usage', usage)
  return headers
}
