import type { RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type { AskedDocument } from '../gateway/documents.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { readPageAddress } from '../gateway/preload/page-address.ts'
import { completePage, documentText } from './visit/complete-page.ts'
import { judgeMainResponse, keptHeaders, listOfOutgoing, pathOfSamePage } from './visit/main-document.ts'
import { Application, type Recorder } from './visit/recorder.ts'
import { outcomeOfSnapshot } from './visit/visit.ts'

/** What renders of pages of one kind, such as `/product/*`, have shown. */
type Experience = {
  /** Consecutive renders that met no script. */
  unscripted: number
  needed: number
  /** Names their style sheets, which a static page must share. */
  application: string | null
}

/** Renders of a kind before its next page is read without a browser; doubles with each page that needs one, unless it was late. */
const FIRST_NEEDED = 3
const MOST_NEEDED = 96
const ACCOUNTS = 200
const KINDS_AN_ACCOUNT = 500

/** With an `outcome` no browser is needed. With a `document` one is, but its request is already answered. Null finds neither. */
export type Found = { outcome: RenderOutcome } | { document: AskedDocument } | null

/** Reads documents without a browser where earlier pages had no script. Forgotten at a restart. */
export class StaticPages {
  readonly #gateway: Gateway
  readonly #accounts = new RecentMap<RecentMap<Experience>>({ limit: ACCOUNTS })

  constructor(gateway: Gateway) {
    this.#gateway = gateway
  }

  async find(request: RenderRequest, recorder: Recorder): Promise<Found> {
    const known = this.#known(request)
    if (known === null || known.unscripted < known.needed) return null
    const document = await this.#gateway.askDocument(request, request.path).catch(() => null)
    if (document === null) return null
    recorder.reached('navigate')
    const outcome = await outcomeOf(document, request, known.application)
    if (outcome === null) {
      known.unscripted = 0
      if (document.head !== null) known.needed = Math.min(2 * known.needed, MOST_NEEDED)
      return { document }
    }
    document.drop()
    recorder.readWithoutBrowser()
    return { outcome }
  }

  learn(request: RenderRequest, { outcome }: { outcome: RenderOutcome }): void {
    if (outcome.kind !== 'rendered' || request.rule !== undefined) return
    const { unscripted = false, application = null } = outcome
    const known = this.#known(request)
    if (known !== null && (!unscripted || known.application === application)) {
      known.unscripted = unscripted ? known.unscripted + 1 : 0
    } else if (unscripted) {
      const needed = known?.needed ?? FIRST_NEEDED
      this.#kinds(request).set(kindOf(request), { unscripted: 1, needed, application })
    }
  }

  #known(request: RenderRequest): Experience | null {
    // Rules wait for elements, and change them.
    return request.rule === undefined ? (this.#kinds(request).get(kindOf(request)) ?? null) : null
  }

  #kinds({ account }: RenderRequest): RecentMap<Experience> {
    const name = String(account)
    const kinds = this.#accounts.get(name) ?? new RecentMap<Experience>({ limit: KINDS_AN_ACCOUNT })
    if (this.#accounts.peek(name) === undefined) this.#accounts.set(name, kinds)
    return kinds
  }
}

function kindOf({ customDomain, originUrl, originHeaders, visitor, path }: RenderRequest): string {
  return JSON.stringify([customDomain, originUrl, originHeaders, visitor, readPageAddress(path).kinds.at(-1)])
}

const STATIC_STATUSES = [200, 404, 410]

/** Resolves with null if only a browser can tell. */
async function outcomeOf(
  { head, body }: AskedDocument,
  request: RenderRequest,
  application: string | null,
): Promise<RenderOutcome | null> {
  if (head === null || 'refresh' in head.headers) return null
  const url = `https://${request.customDomain}${request.path}`
  const headers = listOfOutgoing(head.headers)
  const judged = judgeMainResponse(url, head.status, headers, request)
  // It may be a gate: only a browser brings the cookie.
  const isRedirect = judged?.kind === 'redirect'
  if (isRedirect && 'set-cookie' in head.headers && pathOfSamePage(judged.location, request)) return null
  if (judged !== null) return judged
  const contentType = String(head.headers['content-type'] ?? '')
  if (!STATIC_STATUSES.includes(head.status) || !/^\s*text\/html\b/i.test(contentType)) return null
  const bytes = await body()
  const text = bytes && documentText(bytes, contentType)
  const page = text && completePage(text, url)
  if (!page) return null
  const files = new Application()
  for (const sheet of page.styleSheets) files.requested('Stylesheet', sheet)
  if (files.name() !== application) return null
  const main = { status: head.status, headers: keptHeaders(headers), url, site: request }
  const outcome = outcomeOfSnapshot(page.snapshot, main)
  return outcome.kind === 'rendered' ? { ...outcome, application, movedTo: null, isStatic: true } : null
}
