import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { CdpSession } from '../browser/cdp.ts'
import type { Page } from '../tab/page.ts'
import { isRedirectStatus, publicUrl, type SiteAddress } from './main-document.ts'
import { pageHeaders, pageStatus } from './page-headers.ts'

type Redirect = Extract<RenderOutcome, { kind: 'redirect' }>
type Meta = [name: string, content: string]

/** A page that computes for ever cannot be read. If its next document comes, reading ends at once. */
const READ_MS = 2_000

/** As `takeMetas` of in-page/snapshot.js reads them. */
const READ_METAS = `[...document.querySelectorAll('meta[name], meta[property]')]
  .map((meta) => [meta.getAttribute('name') ?? meta.getAttribute('property'), (meta.getAttribute('content') ?? '').slice(0, 2500)])
  .filter(([name]) => /^(?:prerender-(?:status-code|header)|render:(?:status_code|header))$/i.test(name))
  .slice(0, 50)`

/** A message from in-page/new-document.js: the metas of the page that has left. */
const LEFT = 'left '

/** Hears the metas of a page that leaves sooner than they are read. */
export class LeavingPage {
  readonly #left = Promise.withResolvers<Meta[]>()

  hear(word: string): void {
    if (word.startsWith(LEFT)) this.#left.resolve(metasOf(parsed(word.slice(LEFT.length))))
  }

  get metas(): Promise<Meta[]> {
    return this.#left.promise
  }
}

/** Pages can make what they like of their world. */
function metasOf(given: unknown): Meta[] {
  if (!Array.isArray(given)) return []
  return given.filter(Array.isArray).map(([name, content]) => [String(name), String(content)])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/**
 * Returns the redirect of a page that leaves for `location` by script or refresh. Its metas say what neither can: the
 * status, and the target for crawlers. Without them the status is 302. Never rejects.
 */
export async function redirectOfPage(
  session: CdpSession,
  { ownWorld }: Pick<Page, 'ownWorld'>,
  location: string,
  page: { url: string; site: SiteAddress; leaving: LeavingPage },
): Promise<Redirect> {
  const found: Redirect = { kind: 'redirect', status: 302, location }
  const metas = await readMetas(session, ownWorld, page.leaving)
  const valuesOf = (names: readonly string[]) =>
    metas.flatMap(([name, content]) => (names.includes(name.toLowerCase()) ? [content] : []))
  const status = pageStatus(valuesOf(['prerender-status-code', 'render:status_code'])[0] ?? null)
  const headers = valuesOf(['prerender-header', 'render:header'])
  if (status === null || !isRedirectStatus(status)) return found
  const target = pageHeaders(headers).find(([name]) => name === 'location')?.[1]
  return { ...found, status, location: publicUrl(target ?? location, page.url, page.site) ?? location }
}

function readMetas(
  session: CdpSession,
  contextId: number | undefined,
  leaving: LeavingPage,
): Promise<readonly Meta[]> {
  // The page stays, so that it can be read.
  session.send('Page.stopLoading').catch(() => {})
  const read = session
    .send('Runtime.evaluate', { expression: READ_METAS, returnByValue: true, contextId })
    .then(
      ({ result }) => metasOf(result.value),
      () => leaving.metas,
    )
  return within(READ_MS, Promise.race([leaving.metas, read]), [])
}
