/** Fields of the interface, and what the form of the settings calls them. */
const FIELDS: readonly (readonly [RegExp, string])[] = [
  [/^origin_url$/, 'origin'],
  [/^settings\.fresh_seconds$/, 'freshHours'],
  [/^settings\.stale_seconds$/, 'staleHours'],
  [/^settings\.keep_seconds$/, 'keepDays'],
  [/^settings\.refresh_ahead_percent$/, 'aheadPercent'],
  [/^settings\.query(\[\d+\])?$/, 'queryNames'],
  [/^settings\.rules\[(\d+)\]\.fresh_seconds$/, 'rules.$1.freshHours'],
  [/^settings\.rules\[(\d+)\](\.path)?$/, 'rules.$1.path'],
  [/^settings\.crawlers\.add\[(\d+)\](\.pattern)?$/, 'crawlers.added.$1.pattern'],
  [/^settings\.crawlers\.remove(\[\d+\])?$/, 'crawlers.removed'],
  [/^settings\.render\.user_agent$/, 'visitor.userAgent'],
  [/^settings\.render\.viewport(\.width)?$/, 'visitor.width'],
  [/^settings\.render\.viewport\.height$/, 'visitor.height'],
  [/^settings\.render\.locale$/, 'visitor.locale'],
  [/^settings\.render\.time_zone$/, 'visitor.timeZone'],
]

/** Which field of the settings an error of the server is about, and what it says of it; null: none of them. */
export function problemOfServer(message: string): { field: string; problem: string } | null {
  const origin = /^Invalid origin URL: (.*)$/.exec(message)
  if (origin !== null) return { field: 'origin', problem: origin[1]! }
  const [, name = '', problem = ''] = /^(\S+) (.+)$/.exec(message) ?? []
  for (const [pattern, field] of FIELDS) {
    if (pattern.test(name)) return { field: name.replace(pattern, field), problem }
  }
  return null
}
