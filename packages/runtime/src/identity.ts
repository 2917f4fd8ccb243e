export const BOT_PAGE_PATH = '/bot'

/** Returns the end of the user agent: `Prepaint/1.2.3 (+https://render.example/bot)`. Never contains a password of the URL. */
export function identityOf({ version, publicUrl }: { version: string; publicUrl: string | null }): string {
  if (publicUrl === null) return `Prepaint/${version}`
  const { protocol, host, pathname } = new URL(publicUrl)
  // Parentheses would end the comment (RFC 9110, section 5.6.5).
  const path = pathname.replace(/\/+$/, '').replaceAll('(', '%28').replaceAll(')', '%29')
  return `Prepaint/${version} (+${protocol}//${host}${path}${BOT_PAGE_PATH})`
}
