import type { DomainName, PagePath } from '../ids.ts'
import { normalisePath, type QueryRule } from '../pages/path.ts'
import type { RenderOutcome } from '../render/outcome.ts'
import type { Found } from './effect.ts'

/** More spellings of one address than that are a site going round in circles. */
export const SPELLINGS_LIMIT = 3

/** What decides which addresses are one page. */
export type PageOf = { customDomain: DomainName; path: PagePath; query: QueryRule }

/**
 * Renders a page, and where its site leads to another spelling of the same
 * stored path, that one: with its parameters in another order, with one that is
 * not stored, with a cookie. To a crawler such a redirect would lead to itself
 * for ever, for all spellings have one entry in the store. A site that leads
 * round in circles gives `redirect-loop`, of which nothing is stored: the
 * origin may send its visitors round as it likes.
 */
export async function renderSpelling(
  page: PageOf,
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Found> {
  let path = page.path
  for (let spelling = 1; ; spelling++) {
    const outcome = await render(path)
    const next = outcome.kind === 'redirect' ? sameSpelling(page, outcome.location) : null
    if (outcome.kind !== 'redirect' || next === null) return outcome
    if (spelling === SPELLINGS_LIMIT) return { kind: 'redirect-loop', location: outcome.location }
    path = next
  }
}

/** The address as it is written, where it is one of this page; null: it is of another. */
function sameSpelling({ customDomain, path, query }: PageOf, location: string): PagePath | null {
  const url = URL.parse(location)
  if (url === null || url.hostname !== customDomain || url.port !== '') return null
  const written = url.pathname + url.search
  return normalisePath(written, query) === path ? (written as PagePath) : null
}
