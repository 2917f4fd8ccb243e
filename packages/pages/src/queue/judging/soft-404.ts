import { type PageWords, wordsOfPath } from '@prepaint/contract/reading/words.ts'

/** How a site answers where it has no page: `none` is by status, or not detectable (`why` is for the owner); `soft` is with status 200 and these words. */
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

/** `words` null: the page has too many of them to be a page for missing pages. */
export type Look = { path: string; words: PageWords | null; application: string | null }

/** `one` and `other` had status 200 at paths that cannot exist. `home` equal to them: one page for everything. */
export function findingOf(one: Look, other: Look, home: Look): Finding {
  if (one.application !== other.application) return none('the application changed while it was looked at')
  const first = one.words
  const second = other.words
  if (first === null || second === null) return none('it has too much to say')
  const echoes = namesItself(first, one.path) && namesItself(second, other.path)
  const left = echoes ? withoutPath(first, one.path) : first
  const right = echoes ? withoutPath(second, other.path) : second
  const words = wordsInBoth(left, right)
  const spare = Math.max(left.length, right.length) - words.length
  if (words.length === 0) return none('there is nothing to read')
  if (spare > words.length) return none('it reads differently each time')
  const finding: Finding = { kind: 'soft', application: one.application, words, spare, echoes }
  return readsLike(finding, home) ? none('the home page reads the same') : finding
}

/** A page is a soft 404 if it has all the finding's words and at most `spare` others. */
export function readsLike(finding: Finding, page: { path: string; words: PageWords | null }): boolean {
  if (finding.kind === 'none') return false
  const found = page.words
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

/** Returns the words of `all` that are not in `part`. Both are sorted. */
function rest(all: PageWords, part: PageWords): number[] {
  let at = 0
  return all.filter((word) => {
    while (at < part.length && part[at]! < word) at++
    if (part[at] !== word) return true
    at++
    return false
  })
}

/** The words in both lists, each with its lower count. */
function wordsInBoth(one: PageWords, other: PageWords): PageWords {
  const both: number[] = []
  for (let left = 0, right = 0; left < one.length && right < other.length; ) {
    const word = one[left]!
    const otherWord = other[right]!
    if (word === otherWord) both.push(word)
    if (word <= otherWord) left++
    if (otherWord <= word) right++
  }
  return both
}
