/** Of a stranger: cut, without control and direction characters, and as PostgreSQL can store it. */
export function plainText(text: string, mostChars: number): string {
  const cut = text.slice(0, mostChars).toWellFormed()
  return cut.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, ' ')
}
