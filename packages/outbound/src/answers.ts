/** Makes a stranger's text safe to show: one line without control and direction characters, cut, and storable in PostgreSQL. */
export function plainText(text: string, mostChars: number): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
  return line.slice(0, mostChars).toWellFormed()
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3). Returns null if it is missing or malformed. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000
  const at = header.endsWith('GMT') ? Date.parse(header) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}
