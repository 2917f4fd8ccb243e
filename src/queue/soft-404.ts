import { type PageWords, wordsInBoth, wordsOf, wordsOfPath } from './page-words.ts'

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

/** A page of the same build; of another one nobody knows how it looks without a page. */
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
