/** Returns the first day of the UTC month (`2026-11-01`). */
export function utcMonth(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 7)}-01`
}

export function utcDay(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10)
}
