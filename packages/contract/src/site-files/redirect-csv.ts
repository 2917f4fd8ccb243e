import type { Redirect } from './redirects.ts'

export function redirectsCsv(redirects: readonly Redirect[]): string {
  const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const rows = redirects.map(({ from, to, status }) => `${cell(from)},${cell(to ?? '')},${status}\r\n`)
  return `from,to,status\r\n${rows.join('')}`
}
