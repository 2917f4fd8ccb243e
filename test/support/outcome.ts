import type { GivenPage, RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import type { Found } from '../../packages/pages/src/queue/judging/effect.ts'

type Unread<Page> = Omit<Page, 'reading'> & { reading?: GivenPage['reading'] }

type UnreadOf<Any> = Any extends { kind: 'rendered' }
  ? Unread<Omit<Any, 'changed'>> & { changed?: Unread<NonNullable<Any['changed' & keyof Any]>> }
  : Any extends { kind: 'site-error' }
    ? Unread<Any>
    : Any extends { kind: 'incomplete' }
      ? Omit<Any, 'page'> & { page: Unread<GivenPage> | null }
      : Any

/** An outcome as a test writes it: nobody has read its pages yet. */
export type UnreadOutcome = UnreadOf<RenderOutcome>
export type UnreadFound = UnreadOf<Found>

/** The page as the engine gives it, with its reading. */
export function withReading<Page extends { html: string }>(page: Page, url = 'https://site.invalid/') {
  return { ...page, reading: readPage(page.html, url) }
}

/** The outcome as the engine gives it: each of its pages with its reading. */
export function readOutcome(outcome: UnreadOutcome, url?: string): RenderOutcome
export function readOutcome(found: UnreadFound, url?: string): Found
export function readOutcome(found: UnreadFound, url?: string): Found {
  switch (found.kind) {
    case 'rendered': {
      const { changed, ...page } = found
      return changed === undefined
        ? withReading(page, url)
        : { ...withReading(page, url), changed: withReading(changed, url) }
    }
    case 'site-error':
      return withReading(found, url)
    case 'incomplete':
      return { ...found, page: found.page && withReading(found.page, url) }
    default:
      return found
  }
}
