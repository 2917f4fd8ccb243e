import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredEntry } from '@prepaint/contract/page/stored.ts'
import { factsOf, type PageFacts } from '@prepaint/contract/reading/facts.ts'
import type { DeviceDifference } from '@prepaint/contract/settings/devices.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { BodyStore } from '../../store/bodies/body-store.ts'
import { recordComparison } from '../../store/device-pages.ts'
import { htmlOf, readStored } from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import type { Found } from './effect.ts'

/** A page or a redirect, as a crawler gets it. */
type Answer = { status: number; location: string | null; facts: PageFacts | null }

/**
 * After the mobile render of a compared path: compares it with the stored desktop page, and where they differ with
 * what that one has in common with another desktop render, which is not stored. Records nothing if one of them fails.
 */
export async function compareDevices(
  db: Queryable,
  bodies: BodyStore,
  job: ClaimedJob,
  found: Found,
  renderDesktop: () => Promise<Found>,
): Promise<void> {
  const { page, customDomain } = job
  const url = `https://${customDomain}${page.path}`
  const stored = await readStored(db, pageId(page.domain, page.path), bodies)
  const desktop = stored && (await answerOf(stored, url))
  const mobile = await answerOf(found, url)
  if (desktop === null || mobile === null) return
  let differences = differencesOf(desktop, mobile)
  if (differences.length > 0) {
    const again = await answerOf(await renderDesktop(), url)
    if (again === null) return
    differences = differencesOf(desktop, mobile, again)
  }
  await recordComparison(db, { domain: page.domain, name: customDomain, path: page.path }, differences)
}

/** Returns null if a crawler gets neither a page nor a redirect. */
async function answerOf(found: Found | StoredEntry, url: string): Promise<Answer | null> {
  const { kind } = found
  if (kind === 'redirect') return { status: found.status, location: found.location, facts: null }
  if (kind !== 'rendered' && kind !== 'page') return null
  const html = kind === 'page' ? await htmlOf(found) : (found.changed ?? found).html
  return { status: found.status, location: null, facts: factsOf(html, url) }
}

/** Pages are alike if they have this share of the words in order, and of the links, in common. */
const ALIKE = 0.95

/** `again`: another render of `desktop`; what differs between the two is not compared. */
export function differencesOf(desktop: Answer, mobile: Answer, again: Answer = desktop): DeviceDifference[] {
  const isSame = (of: (answer: Answer) => unknown) => of(desktop) === of(mobile) || of(desktop) !== of(again)
  if (!isSame(({ status, location }) => `${status} ${location}`)) return ['status']
  const facts = [desktop, mobile, again].flatMap((answer) => answer.facts ?? [])
  if (facts.length < 3) return []
  const texts = facts.map(({ text }) => text.map(unnumbered))
  const links = facts.map(({ links }) => links.map(({ href }) => href).sort())
  const alike: [DeviceDifference, boolean][] = [
    ['text', areAlike(texts, wordsOf)],
    ['links', areAlike(links, (hrefs) => hrefs)],
    ['title', isSame((answer) => unnumbered(answer.facts?.title ?? ''))],
    ['description', isSame((answer) => unnumbered(answer.facts?.description ?? ''))],
    ['canonical', isSame((answer) => answer.facts?.canonical)],
    ['structured_data', isSame((answer) => structuredOf(answer.facts))],
  ]
  return alike.flatMap(([name, isAlike]) => (isAlike ? [] : [name]))
}

function unnumbered(text: string): string {
  return text.replace(/\d+/g, '0')
}

function structuredOf(facts: PageFacts | null): string {
  return unnumbered(JSON.stringify(facts?.structured.map(({ kind, types, json }) => [kind, types, json])))
}

type ReadWords = (lines: readonly string[]) => readonly string[]

/** Compares what desktops, phones, and desktops again get. Phones may differ as much as the two others do. */
function areAlike([desktop = [], mobile = [], again = []]: string[][], read: ReadWords): boolean {
  const both = new Set(again)
  const common = read(desktop.filter((line) => both.has(line)))
  const theirs = read(mobile)
  const varying = Math.max(read(desktop).length, read(again).length) - common.length
  const least = Math.ceil(ALIKE * Math.max(common.length, theirs.length - varying))
  return least <= 0 || haveInCommon(common, theirs, least)
}

/** Numbers and dates change from one minute to the next. */
const DATE =
  /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*(?:day|ber|ary|il|ust|ch|e|y))?$/

function wordsOf(lines: readonly string[]): string[] {
  const words = lines.flatMap((line) => line.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])
  return words.filter((word) => !/\d/.test(word) && !DATE.test(word))
}

/** Whether two lists have `least` words in common, in order: Myers' shortest edit script, given up when too long. */
function haveInCommon(one: readonly string[], other: readonly string[], least: number): boolean {
  const edits = one.length + other.length - 2 * least
  if (edits < 0) return false
  const furthest = new Int32Array(2 * edits + 3)
  const middle = edits + 1
  for (let edit = 0; edit <= edits; edit++) {
    for (let diagonal = -edit; diagonal <= edit; diagonal += 2) {
      const below = furthest[middle + diagonal + 1]!
      const above = furthest[middle + diagonal - 1]!
      let x = diagonal === -edit || (diagonal !== edit && above < below) ? below : above + 1
      while (x < one.length && x - diagonal < other.length && one[x] === other[x - diagonal]) x++
      if (x >= one.length && x - diagonal >= other.length) return true
      furthest[middle + diagonal] = x
    }
  }
  return false
}
