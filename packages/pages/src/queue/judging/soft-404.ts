import { pageText } from '@prepaint/contract/reading/page-text.ts'

/** `none`: by status, or not detectable (`why` is for the owner). `soft`: with status 200 and these words. */
export type Finding =
  | { kind: 'none'; why: string }
  | {
      kind: 'soft'
      application: string | null
      words: PageWords
      /** How many other words each had: the time, a proverb. */
      spare: number
      /** The page repeats the requested path. */
      echoes: boolean
    }

export type Look = { path: string; html: string; application: string | null }

/** `one` and `other` had status 200 at paths that cannot exist. `home` equal to them: one page for everything. */
export function findingOf(one: Look, other: Look, home: Look): Finding {
  if (one.application !== other.application) return none('the application changed while it was looked at')
  const [first, second] = [wordsOf(one.html), wordsOf(other.html)]
  if (first === null || second === null) return none('it has too much to say')
  const echoes = namesItself(first, one.path) && namesItself(second, other.path)
  const [left, right] = echoes
    ? [withoutPath(first, one.path), withoutPath(second, other.path)]
    : [first, second]
  const words = wordsInBoth(left, right)
  const spare = Math.max(left.length, right.length) - words.length
  if (words.length === 0) return none('there is nothing to read')
  if (spare > words.length) return none('it reads differently each time')
  const finding: Finding = { kind: 'soft', application: one.application, words, spare, echoes }
  return readsLike(finding, home) ? none('the home page reads the same') : finding
}

/** A page is a soft 404 if it has all the finding's words and at most `spare` others. */
export function readsLike(finding: Finding, page: Pick<Look, 'path' | 'html'>): boolean {
  if (finding.kind === 'none') return false
  const found = wordsOf(page.html)
  if (found === null || found.length < finding.words.length) return false
  if (wordsInBoth(finding.words, found).length < finding.words.length) return false
  const own = finding.echoes ? wordsOfPath(page.path) : new Set<number>()
  const others = rest(found, finding.words).filter((word) => !own.has(word))
  return others.length <= finding.spare
}

/** Pages of another build are not judged. */
export function isSoft404(finding: Finding, page: Look): boolean {
  return finding.kind === 'soft' && finding.application === page.application && readsLike(finding, page)
}

export type Soft404 = { outcome: 'soft-404'; detail: string }

export function soft404Of(finding: Finding | null, look: Look | null): Soft404 | null {
  if (finding === null || look === null || !isSoft404(finding, look)) return null
  return { outcome: 'soft-404', detail: 'it reads like a page that does not exist, with status 200' }
}

function none(why: string): Finding {
  return { kind: 'none', why }
}

/** Probe paths are random letters: they never appear by chance. */
function namesItself(words: PageWords, path: string): boolean {
  const there = new Set(words)
  return [...wordsOfPath(path)].every((word) => there.has(word))
}

function withoutPath(words: PageWords, path: string): PageWords {
  const own = wordsOfPath(path)
  return words.filter((word) => !own.has(word))
}

/** Both are sorted. */
function rest(all: PageWords, part: PageWords): number[] {
  let at = 0
  return all.filter((word) => {
    while (at < part.length && part[at]! < word) at++
    if (part[at] !== word) return true
    at++
    return false
  })
}

/** Sorted hashes, with repetitions. Equal lists read the same in any order. Pictures count by their address. */
type PageWords = readonly number[]

/** A longer page is not a page for missing pages. */
export const WORDS_LIMIT = 3_000

/** About six characters a word. */
const TEXT_LIMIT_CHARS = WORDS_LIMIT * 20

const MEDIA = /<(?:img|source|video|audio|iframe|embed)\s/gi
const TAG_CHARS = 2_500

/** null: more than `WORDS_LIMIT`. */
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

export function wordsOfPath(path: string): ReadonlySet<number> {
  let readable = path
  try {
    readable = decodeURIComponent(path)
  } catch {
    // Not UTF-8: a page can only show it encoded.
  }
  return new Set([...split(path), ...split(readable)])
}

const WORD = /\p{N}+(?:[.,:/-]\p{N}+)*(?![\p{L}\p{M}])|[\p{L}\p{M}\p{N}]+/gu

/** All numbers count as equal, because times and prices change between two renders. */
function split(text: string): number[] {
  const words = text.toLowerCase().match(WORD) ?? []
  return words.map((word) => hashOf(/^\p{N}/u.test(word) && !/\p{L}/u.test(word) ? '0' : word))
}

/** FNV-1a, 32 bits. A deliberate collision only hides a page of one's own site. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** The words in both lists, each with its lower count. */
function wordsInBoth(one: PageWords, other: PageWords): PageWords {
  const both: number[] = []
  for (let left = 0, right = 0; left < one.length && right < other.length; ) {
    const [a, b] = [one[left]!, other[right]!]
    if (a === b) both.push(a)
    if (a <= b) left++
    if (b <= a) right++
  }
  return both
}
