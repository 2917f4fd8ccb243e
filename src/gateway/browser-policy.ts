/**
 * Fonts and media are not downloaded: nobody hears, sees or reads them in a
 * snapshot. A policy that goes with the document is the one way to say so by
 * what a thing is for, whatever its address, host or protocol, and the page is
 * told of a failure as with a visitor who blocks them. What it made itself loads.
 */
const NOTHING_HEAVY = 'font-src data: blob:; media-src data: blob: mediastream:'

/** Values of `Sec-Fetch-Dest` whose answer is a page. */
const PAGES = new Set(['document', 'iframe', 'frame'])

/** `Content-Security-Policy` as Chromium gets it; `received`: the origin's own, which holds as before. */
export function browserPolicy(
  destination: string | string[] | undefined,
  received: string | string[] | undefined,
): string | undefined {
  const own = received === undefined ? undefined : String(received)
  if (!PAGES.has(String(destination))) return own
  // Several policies in one header: each holds by itself (Content Security Policy Level 3, section 2.2.2).
  return own === undefined ? NOTHING_HEAVY : `${own}, ${NOTHING_HEAVY}`
}
