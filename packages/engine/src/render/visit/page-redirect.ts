import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { CdpSession } from '../browser/cdp.ts'
import type { Page } from '../tab/page.ts'
import { isRedirectStatus, publicUrl, type SiteAddress } from './main-document.ts'
import { pageHeaders, pageStatus } from './page-headers.ts'

type Redirect = Extract<RenderOutcome, { kind: 'redirect' }>
type Metas = { statusCode: string | null; headers: string[] }

/** A page that computes for ever cannot be read. If its next document comes, reading ends at once. */
const READ_MS = 2_000

/** As `takeMetas` of in-page/snapshot.js reads them. */
const READ_METAS = `(() => {
  const named = (names) => [...document.querySelectorAll('meta[name], meta[property]')]
    .filter((meta) => names.includes((meta.getAttribute('name') ?? meta.getAttribute('property')).toLowerCase()))
    .map((meta) => (meta.getAttribute('content') ?? '').slice(0, 2500))
  return {
    statusCode: named(['prerender-status-code', 'render:status_code'])[0] ?? null,
    headers: named(['prerender-header', 'render:header']).slice(0, 50),
  }
})()`

/**
 * Returns the redirect of a page that leaves for `location` by script or refresh. Its metas say what neither can: the
 * status, and the target for crawlers. Without them the status is 302. Never rejects.
 */
export async function redirectOfPage(
  session: CdpSession,
  { ownWorld }: Pick<Page, 'ownWorld'>,
  location: string,
  page: { url: string; site: SiteAddress },
): Promise<Redirect> {
  const found: Redirect = { kind: 'redirect', status: 302, location }
  const { statusCode, headers } = await readMetas(session, ownWorld)
  const status = pageStatus(statusCode)
  if (status === null || !isRedirectStatus(status)) return found
  const target = pageHeaders(headers).find(([name]) => name === 'location')?.[1]
  return { ...found, status, location: publicUrl(target ?? location, page.url, page.site) ?? location }
}

function readMetas(session: CdpSession, contextId: number | undefined): Promise<Metas> {
  const none: Metas = { statusCode: null, headers: [] }
  // The page stays, so that it can be read.
  session.send('Page.stopLoading').catch(() => {})
  const read = session
    .send('Runtime.evaluate', { expression: READ_METAS, returnByValue: true, contextId })
    .then(
      ({ result }) => (result.value as Metas | undefined) ?? none,
      () => none,
    )
  return within(READ_MS, read, none)
}
