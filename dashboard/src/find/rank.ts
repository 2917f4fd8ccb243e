/** Something that can be found by the words of its title, or by others: if it is near, as well as by its title. */
type Findable = { key: string; title: string; words?: string; isNear?: boolean }

/** The lower, the better. */
const SCORES = { begin: 0, word: 1, inside: 2, synonym: 3, insideSynonym: 4 }

/** With more exact matches than this, mistyped ones would only be in the way. */
const ENOUGH = 8

/**
 * Returns what matches all words of a text, best first: what was used recently, then by how well it matches. A word may
 * have one wrong, missing, additional or exchanged letter. `recent`: keys, last used first. Without a text all match.
 */
export function rank<Item extends Findable>(
  items: readonly Item[],
  text: string,
  recent: readonly string[] = [],
): Item[] {
  const sought = plain(text).split(/\s+/).filter(Boolean)
  const exact = sorted(items, recent, (item) => scoreOf(item, sought, exactScore))
  if (exact.length >= ENOUGH || sought.length === 0) return exact
  const found = new Set(exact)
  const others = items.filter((item) => !found.has(item))
  const almost = sorted(others, recent, (item) => scoreOf(item, sought, typoScore))
  return [...exact, ...almost]
}

function sorted<Item extends Findable>(
  items: readonly Item[],
  recent: readonly string[],
  score: (item: Item) => number | null,
): Item[] {
  const scored: { item: Item; score: number; place: number }[] = []
  for (const item of items) {
    const found = score(item)
    if (found === null) continue
    const place = recent.indexOf(item.key)
    scored.push({
      item,
      score: item.isNear === true ? SCORES.begin : found,
      place: place === -1 ? recent.length : place,
    })
  }
  scored.sort((one, other) => one.place - other.place || one.score - other.score)
  return scored.map(({ item }) => item)
}

/** What is compared with a word that was typed. */
type Readable = { title: string; titleWords: readonly string[]; words: string; otherWords: readonly string[] }

/** Items are ranked again with each letter. */
const read = new WeakMap<Findable, Readable>()

function readableOf(item: Findable): Readable {
  const known = read.get(item)
  if (known !== undefined) return known
  const title = plain(item.title)
  const words = plain(item.words ?? '')
  const readable = { title, titleWords: wordsOf(title), words, otherWords: wordsOf(words) }
  read.set(item, readable)
  return readable
}

/** Returns the sum for all words, or null if one of them does not occur. */
function scoreOf(
  item: Findable,
  sought: readonly string[],
  scoreOfWord: (word: string, item: Readable) => number | null,
): number | null {
  let sum = 0
  for (const word of sought) {
    const score = scoreOfWord(word, readableOf(item))
    if (score === null) return null
    sum += score
  }
  return sum
}

function exactScore(word: string, { title, titleWords, words, otherWords }: Readable): number | null {
  if (title.startsWith(word)) return SCORES.begin
  if (titleWords.some((part) => part.startsWith(word))) return SCORES.word
  if (title.includes(word)) return SCORES.inside
  if (otherWords.some((part) => part.startsWith(word))) return SCORES.synonym
  return words.includes(word) ? SCORES.insideSynonym : null
}

function typoScore(word: string, item: Readable): number | null {
  const exact = exactScore(word, item)
  if (exact !== null) return exact
  if (item.titleWords.some((part) => beginsAlmost(part, word))) return SCORES.word
  return item.otherWords.some((part) => beginsAlmost(part, word)) ? SCORES.synonym : null
}

const SHORT = 3

/** Whether a word begins with what was typed, but for one letter. Of short words the whole is compared. */
function beginsAlmost(part: string, typed: string): boolean {
  if (typed.length < SHORT) return false
  if (typed.length === SHORT) return part.length === SHORT && isOneEdit(part, typed)
  return [-1, 0, 1].some((more) => isOneEdit(part.slice(0, typed.length + more), typed))
}

/** Whether one letter is wrong, missing, too many, or exchanged with its neighbour. */
function isOneEdit(one: string, other: string): boolean {
  let start = 0
  while (start < one.length && one[start] === other[start]) start++
  const left = one.slice(start)
  const right = other.slice(start)
  if (left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1)) return true
  return left[0] === right[1] && left[1] === right[0] && left.slice(2) === right.slice(2)
}

/** Whole words, and their parts: of `shop.example.com` also `example`. */
function wordsOf(text: string): string[] {
  return [...text.split(/\s+/), ...text.split(/[^\p{L}\p{N}]+/u)].filter(Boolean)
}

/** Without case and accents. */
function plain(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase().trim()
}
