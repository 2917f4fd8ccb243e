/** Sorted hashes, with repetitions. Equal lists read the same in any order. Pictures count by their address. */
export type PageWords = readonly number[]

/** A longer page is not a page for missing pages. */
export const WORDS_LIMIT = 3_000

/** About six characters a word. */
const TEXT_LIMIT_CHARS = WORDS_LIMIT * 20

/** Returns null for more than `WORDS_LIMIT` words. `media` are the addresses of what the page shows besides its text. */
export function wordsOfText(text: string, media: readonly string[]): number[] | null {
  if (text.length >= TEXT_LIMIT_CHARS || media.length > WORDS_LIMIT) return null
  const words = splitWords(text)
  for (const address of media) words.push(hashOf(`src ${address}`))
  return words.length > WORDS_LIMIT ? null : words.sort((one, other) => one - other)
}

export function wordsOfPath(path: string): ReadonlySet<number> {
  let readable = path
  try {
    readable = decodeURIComponent(path)
  } catch {
    // Not UTF-8: a page can only show it encoded.
  }
  return new Set([...splitWords(path), ...splitWords(readable)])
}

const WORD = /\p{N}+(?:[.,:/-]\p{N}+)*(?![\p{L}\p{M}])|[\p{L}\p{M}\p{N}]+/gu

/** All numbers count as equal, because times and prices change between two renders. */
function splitWords(text: string): number[] {
  const words = text.toLowerCase().match(WORD) ?? []
  return words.map((word) => hashOf(/^\p{N}/u.test(word) && !/\p{L}/u.test(word) ? '0' : word))
}

/** FNV-1a, 32 bits. A deliberate collision only hides a page of one's own site. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
