/** The UTC month of a moment, as its first day (`2026-11-01`): months are counted in UTC, wherever the node stands. */
export function utcMonth(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 7)}-01`
}

/** The UTC day of a moment (`2026-11-21`). */
export function utcDay(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 10)
}
