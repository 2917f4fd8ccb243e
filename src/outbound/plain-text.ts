/** Of a stranger, for people: one line without control and direction characters, cut, and as PostgreSQL can store it. */
export function plainText(text: string, mostChars: number): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
  return line.slice(0, mostChars).toWellFormed()
}
