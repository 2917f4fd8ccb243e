import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { type PageId, pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import type pg from 'pg'
import type { BodyStore } from '../../store/bodies/body-store.ts'
import { lastRenderedPaths } from '../../store/keep-page.ts'
import { deletePages } from '../../store/purge.ts'
import { htmlOf, readStored } from '../../store/stored-page.ts'
import type { Completion } from '../jobs/complete.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { readStatement } from '../statement.ts'
import type { Found } from './effect.ts'
import { type Finding, findingOf, type Look, readsLike } from './soft-404.ts'

/** Explained to site owners on the page `/bot`. */
const PROBE_PREFIX = '/prepaint-probe-'

const LETTERS = 20

/** `random` has at least 20 bytes. */
function probePath(random: Uint8Array): PagePath {
  const letters = [...random.subarray(0, LETTERS)].map((byte) => String.fromCharCode(97 + (byte % 26)))
  return `${PROBE_PREFIX}${letters.join('')}` as PagePath
}

/** Returns a path of which every letter differs. */
function otherPath(path: PagePath): PagePath {
  const letters = [...path.slice(PROBE_PREFIX.length)]
  const turned = letters.map((letter) => String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + 13) % 26)))
  return `${PROBE_PREFIX}${turned.join('')}` as PagePath
}

/** What is asked about a job to learn about its site. */
type SitePage = { customDomain: DomainName; page: PageId }

/** Renders two paths that cannot exist, and `/` to exclude a site that is the same everywhere. Stores no page. */
export async function probeSite(
  { page, customDomain }: SitePage,
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Found> {
  const looks: Look[] = []
  for (const path of [page.path, otherPath(page.path), '/' as PagePath]) {
    const found = await lookAt(path, customDomain, render)
    if ('kind' in found) return found
    looks.push(found)
  }
  const [one, other, home] = looks as [Look, Look, Look]
  return { kind: 'probed', finding: findingOf(one, other, home) }
}

/** Returns the outcome of the probe if there is no page to look at. */
async function lookAt(
  path: PagePath,
  customDomain: DomainName,
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Look | Found> {
  let outcome = await render(path)
  // Many sites redirect from `/` to a language version.
  const next = path === '/' && outcome.kind === 'redirect' ? ownPath(outcome.location, customDomain) : null
  if (next !== null) outcome = await render(next)
  if (outcome.kind === 'crashed' || outcome.kind === 'aborted') return outcome
  const moved = outcome.kind === 'rendered' && path !== '/' ? pathOf(outcome.movedTo ?? null) : null
  if (moved !== null && moved !== path) {
    // The path leads to a real page, so there is no page for missing pages.
    return {
      kind: 'probed',
      finding: { kind: 'none', why: `such addresses become ${moved.slice(0, 200)}` },
    }
  }
  if (outcome.kind === 'rendered' && (outcome.status === 200 || path === '/')) {
    return { path, words: outcome.reading.words, application: outcome.application ?? null }
  }
  const isLasting = ['rendered', 'redirect', 'not-html'].includes(outcome.kind)
  const why = `${path === '/' ? 'the home page: ' : ''}${wordsFor(outcome)}`
  return { kind: 'probed', finding: isLasting ? { kind: 'none', why } : null, why }
}

function pathOf(address: string | null): string | null {
  return address === null ? null : (URL.parse(address)?.pathname ?? null)
}

function ownPath(location: string, customDomain: DomainName): PagePath | null {
  const url = URL.parse(location)
  return url?.hostname === customDomain ? normalisePath(url.pathname + url.search) : null
}

function wordsFor(outcome: RenderOutcome): string {
  return outcome.kind === 'rendered' ? `status ${outcome.status}` : outcome.kind
}

export function probeDetail(finding: Finding | null, why = ''): string {
  if (finding === null) return `could not be judged: ${why}`
  if (finding.kind === 'none') return `no soft 404: ${finding.why}`
  return `pages that do not exist are answered with 200 and ${finding.words.length} words`
}

export const SWEEP_LIMIT = 200
/** Larger pages are skipped. */
const HTML_LIMIT_BYTES = 2 * 1024 * 1024

/** Learns about a site from the jobs that end. */
export interface SiteWatch {
  /** Call after a job ends. Returns a text for the owner, or null if there is nothing to say. */
  after(job: SitePage, found: Found, end: Completion, nowMs: number): Promise<string | null>
}

type Asked = { domain: DomainId; application: string | null; nowMs: number }

/**
 * Queues a due probe after a page. Removes older soft 404s after a probe, and says so to the owner. Probes are queued at
 * `warm`: no crawler waits for them.
 */
export class Prober implements SiteWatch {
  readonly #pool: pg.Pool
  readonly #bodies: BodyStore
  readonly #random: (bytes: number) => Uint8Array
  readonly #due = readStatement('due-probe')
  readonly #ask = readStatement('ask-probe')
  readonly #askIfDue

  constructor(pool: pg.Pool, bodies: BodyStore, random: (bytes: number) => Uint8Array) {
    this.#pool = pool
    this.#bodies = bodies
    this.#random = random
    // All pages of a build that end at once ask once.
    this.#askIfDue = joined<Asked, void>(([asked]) => this.#askOnce(asked!), {
      most: 50,
      underWay: 1,
      groupOf: ({ domain, application }) => `${domain} ${application}`,
    })
  }

  async after(
    { page: { domain }, customDomain }: SitePage,
    found: Found,
    end: Completion,
    nowMs: number,
  ): Promise<string | null> {
    if (end.state !== 'done') return null
    if (found.kind === 'rendered') {
      await this.#askIfDue({ domain, application: found.application ?? null, nowMs })
    }
    if (found.kind !== 'probed' || found.finding === null) return null
    const removed = await this.#sweep(domain, customDomain, found.finding)
    const also = removed === 0 ? '' : `; stored pages that read the same and were removed: ${removed}`
    return `${probeDetail(found.finding)}${also}`
  }

  async #askOnce({ domain, application, nowMs }: Asked): Promise<undefined> {
    const values = [domain, new Date(nowMs), application]
    const { rowCount } = await this.#pool.query({ ...this.#due, values })
    if (rowCount === 0) return
    try {
      await transaction(this.#pool, async (client) => {
        const asked = await client.query({ ...this.#ask, values })
        if (asked.rowCount === 0) return
        const path = probePath(this.#random(32))
        const [job] = await enqueue(client, domain, [path], 'warm', { variant: 'desktop' })
        await client.query('update probe set job_id = $2 where domain_id = $1', [domain, job?.jobId])
      })
    } catch (error) {
      // The next stored page tries again.
      if (!(error instanceof AppError) || error.code !== 'queue_full') throw error
    }
  }

  /** Removes stored pages that read like the finding. Returns how many. */
  async #sweep(domain: DomainId, name: DomainName, finding: Finding): Promise<number> {
    if (finding.kind === 'none') return 0
    const wanted = { htmlBytes: HTML_LIMIT_BYTES, limit: SWEEP_LIMIT + 1 }
    const paths = (await lastRenderedPaths(this.#pool, domain, wanted)).filter((path) => path !== '/')
    const bad: { path: PagePath; etag: string }[] = []
    // One at a time: together they could need hundreds of megabytes.
    for (const path of paths.slice(0, SWEEP_LIMIT)) {
      const page = await readStored(this.#pool, pageId(domain, path), this.#bodies).catch(
        (error: unknown) => {
          // One body that cannot be read now keeps only its own page.
          if (error instanceof BodyUnavailable) return null
          throw error
        },
      )
      if (page?.kind !== 'page' || page.htmlBytes > HTML_LIMIT_BYTES) continue
      const html = await htmlOf(page, HTML_LIMIT_BYTES)
      const { words } = readPage(html, `https://${name}${path}`)
      if (readsLike(finding, { path, words })) bad.push({ path, etag: page.etag })
    }
    if (bad.length === 0) return 0
    return transaction(this.#pool, (client) =>
      deletePages(client, domain, { kind: 'unchanged', pages: bad }, 'soft-404'),
    )
  }
}
