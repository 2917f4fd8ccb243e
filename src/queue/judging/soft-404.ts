import { pageText } from '../../render/visit/page-text.ts'

/**
 * How a site looks where there is no page, found by looking at two addresses
 * that cannot exist (`probe.ts`).
 *
 * `none`: it says so by its status, or there is nothing to know it by; `why` is
 * for the owner. `soft`: it answers 200 with these words.
 */
export type Finding =
  | { kind: 'none'; why: string }
  | {
      kind: 'soft'
      /** Which build of the application was looked at: pages of another one are not judged by it. */
      application: string | null
      /** What both had. */
      words: PageWords
      /** How many words each had beside that: the time, a proverb. */
      spare: number
      /** The page repeats the address that it was asked for. */
      echoes: boolean
    }

/** One look at a site. */
export type Look = { path: string; html: string; application: string | null }

/**
 * `one`, `other`: addresses that cannot exist, answered with 200. `home`: the
 * page at `/`; a site on which that reads the same has one page for everything,
 * and none of them is a soft 404.
 */
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

/**
 * Whether a page says what the site says where there is no page, and no more:
 * every word of that, and at most as many others as it had itself. A page that
 * has something of its own, or lacks the words of regret, is a page.
 */
export function readsLike(finding: Finding, page: Pick<Look, 'path' | 'html'>): boolean {
  if (finding.kind === 'none') return false
  const found = wordsOf(page.html)
  if (found === null || found.length < finding.words.length) return false
  if (wordsInBoth(finding.words, found).length < finding.words.length) return false
  const own = finding.echoes ? wordsOfPath(page.path) : new Set<number>()
  const others = rest(found, finding.words).filter((word) => !own.has(word))
  return others.length <= finding.spare
}

/** A page of the same build: how another build looks without a page is not known. */
export function isSoft404(finding: Finding, page: Look): boolean {
  return finding.kind === 'soft' && finding.application === page.application && readsLike(finding, page)
}

/** Why a page that was rendered is not stored, nor takes the place of the last good copy. */
export type Soft404 = { outcome: 'soft-404'; detail: string }

/** A page compared with what its site shows where there is none; null: nothing is known, or it is a page. */
export function soft404Of(finding: Finding | null, look: Look | null): Soft404 | null {
  if (finding === null || look === null || !isSoft404(finding, look)) return null
  return { outcome: 'soft-404', detail: 'it reads like a page that does not exist, with status 200' }
}

function none(why: string): Finding {
  return { kind: 'none', why }
}

/** Probes are of random letters: nothing has them by chance. */
function namesItself(words: PageWords, path: string): boolean {
  const there = new Set(words)
  return [...wordsOfPath(path)].every((word) => there.has(word))
}

function withoutPath(words: PageWords, path: string): PageWords {
  const own = wordsOfPath(path)
  return words.filter((word) => !own.has(word))
}

/** What is in `all` and not in `part`, each word as often as it is there more. Both are sorted. */
function rest(all: PageWords, part: PageWords): number[] {
  let at = 0
  return all.filter((word) => {
    while (at < part.length && part[at]! < word) at++
    if (part[at] !== word) return true
    at++
    return false
  })
}

/**
 * What a reader finds on a page, as a sorted list of numbers, one for each word
 * that stands there, repeated where it is: two pages with the same list read
 * the same, whatever the order. Pictures and players count by their address.
 */
type PageWords = readonly number[]

/** A page with more has more to say than that there is nothing. */
export const WORDS_LIMIT = 3_000

/** About six characters a word: longer texts are not read to the end. */
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

/** FNV-1a, 32 bits. A collision on purpose only hides a page of one's own site. */
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
