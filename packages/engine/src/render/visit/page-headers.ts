import { isHeaderName, pageMaySet } from '@prepaint/contract/headers.ts'
import { BODILESS } from './main-document.ts'

export const PAGE_HEADERS_LIMIT = 20
export const HEADER_VALUE_LIMIT_CHARS = 2_048
/** Names and values together; leaves room for headers of servers in front. */
export const PAGE_HEADERS_LIMIT_CHARS = 8_192

/** Parses `Name: value` texts; drops malformed, denied, repeated or excess ones. `location` needs a redirect status. */
export function pageHeaders(texts: readonly string[]): [name: string, value: string][] {
  const kept: [string, string][] = []
  let chars = 0
  for (const text of texts) {
    const at = text.indexOf(':')
    if (at < 1) continue
    const name = text.slice(0, at).trim().toLowerCase()
    const given = text.slice(at + 1).trim()
    const value = name === 'location' ? encodedLetters(given) : given
    if (!isHeaderName(name) || !pageMaySet(name)) continue
    if (value === '' || value.length > HEADER_VALUE_LIMIT_CHARS || !/^[\x20-\x7e]*$/.test(value)) continue
    if (kept.some(([known]) => known === name)) continue
    chars += name.length + value.length
    if (kept.length === PAGE_HEADERS_LIMIT || chars > PAGE_HEADERS_LIMIT_CHARS) break
    kept.push([name, value])
  }
  return kept
}

/** Percent-encodes letters that a URL may not have; browsers do so, too. Line breaks and the like stay, and are refused. */
function encodedLetters(location: string): string {
  return location.isWellFormed() ? location.replace(/[^\x00-\x9f\p{C}\p{Z}]/gu, encodeURIComponent) : location
}

/** Returns the status that the text of a meta names, or null if it names none that a page can have. */
export function pageStatus(text: string | null): number | null {
  const status = Number(text?.trim() || Number.NaN)
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599
  return isStatus && !BODILESS.has(status) ? status : null
}
