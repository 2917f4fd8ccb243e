import { DIFFERENCES } from '@prepaint/contract/api/rule-tries.ts'
import { unreachable } from '@prepaint/contract/errors.ts'
import type { GivenPage } from '@prepaint/contract/outcome/outcome.ts'
import { isAsset } from '@prepaint/contract/page/path.ts'
import { DIGEST_FACTS, readContents } from '@prepaint/contract/reading/facts.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import type { ChosenRule } from '@prepaint/runtime/rule-book.ts'
import type { Look } from '../../inspection/inspection-worker.ts'
import type { TriedRules } from '../jobs/claim.ts'
import { detailOf, type Found } from '../judging/effect.ts'

/** `ms`: how long the render under the new rules took, or null if these render nothing. */
export type TriedResult = {
  outcome: string
  ms: number | null
  differences: { of: (typeof DIFFERENCES)[number]; before: string; after: string }[]
}

/** `pictures`: WebP where the pages differ, otherwise null. */
export type Tried = { result: TriedResult; pictures: Record<'before' | 'after', Buffer | null> }

/** `requests`: how many the page made. */
export type RenderedTry = { outcome: Found; ms: number; requests: number }

type RenderTry = (rule: ChosenRule | null) => Promise<RenderedTry>
type DrawTry = (page: GivenPage, rule: ChosenRule | null) => Promise<Buffer | null>

/** Shows a document as a browser does. */
export type Draw = (
  request: Parameters<Look>[0] & { given: { html: string } },
) => Promise<{ picture: Buffer }>

/** What crawlers get under a rule. `page` is null if there is none to compare, `status` if it is the origin's. */
type Answer = {
  outcome: string
  detail: string
  ms: number | null
  requests: number
  status: number | null
  page: GivenPage | null
}

const READ_CHARS = 4_000_000
const TEXT_CHARS = 20_000

/** Renders under both rules. Returns a fault, which is retried, as it is. */
export async function tryRules(tried: TriedRules, render: RenderTry, draw: DrawTry): Promise<Found> {
  // Rules with the same effect make the same page.
  const renders = new Map<string, Promise<RenderedTry>>()
  const after = await answerUnder(tried.after)
  if ('kind' in after) return after
  const before = await answerUnder(tried.before)
  if ('kind' in before) return before
  const { outcome, ms } = after
  const result = { outcome, ms, differences: compared(before, after, tried.path) }
  const isSeen = before.page?.html !== after.page?.html
  // Without a picture the texts still say what differs.
  const pictureOf = async ({ page }: Answer, rule: ChosenRule | null) =>
    isSeen && page !== null ? draw(page, rule).catch(() => null) : null
  const pictures = {
    before: await pictureOf(before, tried.before),
    after: await pictureOf(after, tried.after),
  }
  return { kind: 'tried', result, pictures }

  async function answerUnder(rule: ChosenRule | null): Promise<Answer | Found> {
    const own = ownAnswer(tried.path, rule?.rule.action)
    if (own !== null) return { ...own, detail: '', ms: null, requests: 0, page: null }
    const effect = rule?.effect ?? ''
    const rendering = renders.get(effect) ?? render(rule)
    renders.set(effect, rendering)
    const { outcome: found, ms, requests } = await rendering
    if (found.kind === 'aborted' || found.kind === 'crashed') return found
    const page = found.kind === 'rendered' ? { ...found, ...found.changed } : pageOf(found)
    const isKept = found.kind !== 'rendered' || rule?.rule.action !== 'no-store'
    const outcome = isKept ? found.kind : 'no-store'
    return { outcome, detail: detailOf(found), ms, requests, status: page?.status ?? null, page }
  }
}

function pageOf(found: Found): GivenPage | null {
  if (found.kind === 'incomplete') return found.page
  return found.kind === 'site-error' ? found : null
}

/** Returns what the action answers by itself, or null if the page is rendered. */
function ownAnswer(path: string, action: Rule['action']) {
  switch (action) {
    case 'pass':
      return { outcome: action, status: null }
    case 'not-found':
      return { outcome: action, status: 404 }
    case 'gone':
      return { outcome: action, status: 410 }
    case 'render':
      return null
    case 'no-store':
    case undefined:
      return isAsset(path) ? { outcome: 'pass', status: null } : null
    default:
      return unreachable(action)
  }
}

function compared(before: Answer, after: Answer, path: string): TriedResult['differences'] {
  const old = described(before, path)
  const fresh = described(after, path)
  return DIFFERENCES.flatMap((of) => {
    const was = old[of]
    const is = fresh[of]
    return was === undefined || is === undefined || was === is ? [] : [{ of, before: was, after: is }]
  })
}

type Description = Partial<Record<(typeof DIFFERENCES)[number], string>>

/** Describes what can be compared. */
function described({ outcome, detail, requests, status, page }: Answer, path: string): Description {
  const lines = (all: readonly string[]) => all.join('\n').slice(0, TEXT_CHARS)
  const always: Description = { outcome: detail === '' ? outcome : `${outcome}: ${detail}` }
  if (status !== null) always.status = `${status}`
  if (page === null) return always
  const html = page.html.slice(0, READ_CHARS)
  const { facts, head } = readContents(html, `https://site.invalid${path}`, DIGEST_FACTS)
  return {
    ...always,
    head: lines(head),
    text: lines(facts.text),
    headers: lines(page.headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`).sort()),
    html_bytes: `${Buffer.byteLength(page.html)}`,
    requests: `${requests}`,
  }
}
