/** The ranges that can be chosen; the first is the usual one. */
export const RANGES = [
  { name: '24h', label: '24 hours', steps: 24, step: 'hour' },
  { name: '7d', label: '7 days', steps: 7 * 24, step: 'hour' },
  { name: '30d', label: '30 days', steps: 30, step: 'day' },
  { name: '90d', label: '90 days', steps: 90, step: 'day' },
] as const

export type Range = (typeof RANGES)[number]

const STEP_MS = { hour: 3_600_000, day: 86_400_000 }

/** The range that an address names; anything else is the usual one. */
export function rangeNamed(name: string | null): Range {
  return RANGES.find((range) => range.name === name) ?? RANGES[0]
}

/** As many whole steps as the range has, the one that runs among them, as parameters of the interface. */
export function rangeParams({ steps, step }: Range, nowMs: number): string {
  const from = Math.floor(nowMs / STEP_MS[step]) * STEP_MS[step] - (steps - 1) * STEP_MS[step]
  return new URLSearchParams({ from: new Date(from).toISOString(), step }).toString()
}
