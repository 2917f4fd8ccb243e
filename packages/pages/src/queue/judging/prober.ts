import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath } from '@prepaint/contract/page/path.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import type pg from 'pg'
import { lastRenderedPaths } from '../../store/keep-page.ts'
import { deletePages } from '../../store/purge.ts'
import { htmlOf, readStored } from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import type { Completion } from '../jobs/complete.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { readStatement } from '../statement.ts'
import type { Found } from './effect.ts'
import { type Finding, findingOf, type Look, readsLike } from './soft-404.ts'

/** Explained to site owners on the page `/bot`. */
const PROBE_PREFIX = '/prepaint-probe-'

const LETTERS = 20

/** `random`: at least 20 bytes. */
function probePath(random: Uint8Array): PagePath {
  const letters = [...random.subarray(0, LETTERS)].map((byte) => String.fromCharCode(97 + (byte % 26)))
  return `${PROBE_PREFIX}${letters.join('')}` as PagePath
}

/** Every letter differs. */
function otherPath(path: PagePath): PagePath {
  const letters = [...path.slice(PROBE_PREFIX.length)]
  const turned = letters.map((letter) => String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + 13) % 26)))
  return `${PROBE_PREFIX}${turned.join('')}` as PagePath
}

/** Renders two paths that cannot exist, and `/` to exclude a site that is the same everywhere. Stores no page. */
export async function probeSite(
  job: Pick<ClaimedJob, 'customDomain' | 'page'>,
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Found> {
  const looks: Look[] = []
  for (const path of [job.page.path, otherPath(job.page.path), '/' as PagePath]) {
    const found = await lookAt(path)
    if ('kind' in found) return found
    looks.push(found)
  }
  const [one, other, home] = looks as [Look, Look, Look]
  return { kind: 'probed', finding: findingOf(one, other, home) }

  async function lookAt(path: PagePath): Promise<Look | Found> {
    let outcome = await render(path)
    // Many sites redirect from `/` to a language version.
    const next = path === '/' && outcome.kind === 'redirect' ? ownPath(outcome.location) : null
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

  function ownPath(location: string): PagePath | null {
    const url = URL.parse(location)
    return url?.hostname === job.customDomain ? normalisePath(url.pathname + url.search) : null
  }
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

export type Prober = {
  /**
   * Call after a job ends. After a page: queues a due probe.
   * After a probe: removes older soft 404s and returns a text for the owner.
   */
  after(
    job: Pick<ClaimedJob, 'customDomain' | 'page'>,
    found: Found,
    end: Completion,
    nowMs: number,
  ): Promise<string | null>
}

type Asked = { domain: DomainId; application: string | null; nowMs: number }

/** Probes are queued at `warm`: no crawler waits for them. */
export function createProber(pool: pg.Pool, random: (bytes: number) => Uint8Array): Prober {
  const due = readStatement('due-probe')
  const ask = readStatement('ask-probe')
  // One for all pages that end at once.
  const askIfDue = joined<Asked, void>(
    async (all: readonly Asked[]) => {
      await askOnce(all[0]!)
      return undefined
    },
    { most: 50, underWay: 1, groupOf: ({ domain, application }) => `${domain} ${application}` },
  )

  return {
    async after({ page: { domain }, customDomain }, found, end, nowMs) {
      if (end.state !== 'done') return null
      if (found.kind === 'rendered') await askIfDue({ domain, application: found.application ?? null, nowMs })
      if (found.kind !== 'probed' || found.finding === null) return null
      const removed = await sweep(domain, customDomain, found.finding)
      const also = removed === 0 ? '' : `; stored pages that read the same and were removed: ${removed}`
      return `${probeDetail(found.finding)}${also}`
    },
  }

  async function askOnce({ domain, application, nowMs }: Asked): Promise<void> {
    const values = [domain, new Date(nowMs), application]
    const { rowCount } = await pool.query({ ...due, values })
    if (rowCount === 0) return
    await transaction(pool, async (client) => {
      const asked = await client.query({ ...ask, values })
      if (asked.rowCount === 0) return
      const [job] = await enqueue(client, domain, [probePath(random(32))], 'warm', { variant: 'desktop' })
      await client.query('update probe set job_id = $2 where domain_id = $1', [domain, job?.jobId])
    }).catch((error) => {
      // The next stored page tries again.
      if (error instanceof AppError && error.code === 'queue_full') return
      throw error
    })
  }

  async function sweep(domain: DomainId, name: DomainName, finding: Finding): Promise<number> {
    if (finding.kind === 'none') return 0
    const wanted = { htmlBytes: HTML_LIMIT_BYTES, limit: SWEEP_LIMIT + 1 }
    const paths = (await lastRenderedPaths(pool, domain, wanted)).filter((path) => path !== '/')
    const bad: { path: PagePath; etag: string }[] = []
    // One at a time: together they could need hundreds of megabytes.
    for (const path of paths.slice(0, SWEEP_LIMIT)) {
      const page = await readStored(pool, pageId(domain, path))
      if (page?.kind !== 'page' || page.htmlBytes > HTML_LIMIT_BYTES) continue
      const html = await htmlOf(page, HTML_LIMIT_BYTES)
      const { words } = readPage(html, `https://${name}${path}`)
      if (readsLike(finding, { path, words })) bad.push({ path, etag: page.etag })
    }
    if (bad.length === 0) return 0
    return transaction(pool, (client) =>
      deletePages(client, domain, { kind: 'unchanged', pages: bad }, 'soft-404'),
    )
  }
}
