/** Where the page stands, below the public address, that says who renders and how to stop it. */
export const BOT_PAGE_PATH = '/bot'

/**
 * What a render says of itself at the end of its user agent, so that whoever
 * sees it in a log can ask: `Prepaint/1.2.3 (+https://render.example/bot)`.
 * Without a public address there is no page that a stranger could open, and
 * none is named. A password in the address is not told to the world.
 */
export function identityOf({ version, publicUrl }: { version: string; publicUrl: string | null }): string {
  if (publicUrl === null) return `Prepaint/${version}`
  const { protocol, host, pathname } = new URL(publicUrl)
  // Parentheses would end the comment (RFC 9110, section 5.6.5).
  const path = pathname.replace(/\/+$/, '').replaceAll('(', '%28').replaceAll(')', '%29')
  return `Prepaint/${version} (+${protocol}//${host}${path}${BOT_PAGE_PATH})`
}
