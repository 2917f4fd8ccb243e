import { pageText } from '../render/page-text.ts'

/**
 * What a reader finds on a page, as a sorted list of numbers, one for each word
 * that stands there, repeated where it is: two pages with the same list read
 * the same, whatever the order. Pictures and players count by their address.
 */
export type PageWords = readonly number[]

/** A page with more has more to say than that there is nothing. */
export const WORDS_LIMIT = 3_000

/** Some six characters to a word: whoever has so many is not read to the end. */
const TEXT_LIMIT_CHARS = WORDS_LIMIT * 20

const MEDIA = /<(?:img|source|video|audio|iframe|embed)\s/gi
/** An element's attributes are looked at so far. */
const TAG_CHARS = 2_500

/** The words of a snapshot; null: more than `WORDS_LIMIT`. */
export function wordsOf(html: string): PageWords | null {
  const text = pageText(html, TEXT_LIMIT_CHARS)
  if (text.length >= TEXT_LIMIT_CHARS) return null
  const words = split(text)
  for (const { index } of html.matchAll(MEDIA)) {
    const address = /^[^>]*?\ssrc="([^"]+)/i.exec(html.slice(index, index + TAG_CHARS))?.[1] ?? ''
    words.push(hashOf(`src ${address}`))
    if (words.length > WORDS_LIMIT) return null
  }
  return words.length > WORDS_LIMIT ? null : words.sort((one, other) => one - other)
}

/** The words that an address is made of. */
export function wordsOfPath(path: string): ReadonlySet<number> {
  let readable = path
  try {
    readable = decodeURIComponent(path)
  } catch {
    // Not UTF-8: a page can only show it as it is.
  }
  return new Set([...split(path), ...split(readable)])
}

/** A number as it is written, with its separators, or a word. */
const WORD = /\p{N}+(?:[.,:/-]\p{N}+)*(?![\p{L}\p{M}])|[\p{L}\p{M}\p{N}]+/gu

/** Numbers are alike, for hours, prices and durations change from one moment to the next. */
function split(text: string): number[] {
  const words = text.toLowerCase().match(WORD) ?? []
  return words.map((word) => hashOf(/^\p{N}/u.test(word) && !/\p{L}/u.test(word) ? '0' : word))
}

/** FNV-1a, 32 bits. Nobody gains by a collision: whoever makes one hides a page of his own site. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** What both lists have, each word as often as in either. */
export function wordsInBoth(one: PageWords, other: PageWords): PageWords {
  const both: number[] = []
  for (let left = 0, right = 0; left < one.length && right < other.length; ) {
    const [a, b] = [one[left]!, other[right]!]
    if (a === b) both.push(a)
    if (a <= b) left++
    if (b <= a) right++
  }
  return both
}
