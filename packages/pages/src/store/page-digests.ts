import { setImmediate } from 'node:timers/promises'
import type { DomainName } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { DIGEST_FACTS, factsOf, type PageFacts } from '@prepaint/contract/reading/facts.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { etagOf } from '@prepaint/runtime/http/etag.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import type { BodyStore } from './bodies/body-store.ts'
import { htmlOf, packText } from './stored-page.ts'

export const DIGESTS_A_PAGE = 5
const KEPT_DAYS = 30
/** Larger documents have no history: reading them takes as long as a render. */
export const DIGEST_LIMIT_CHARS = 2_000_000
/** The most pages that wait. Further pages get no digest. */
export const WAITING_LIMIT = 50
const FACTS_LIMIT_BYTES = 1_000_000
/**
 * The most bytes of a digest if bodies are in an object store, some 4,000 characters of English text: a changed page would write
 * more of it than of all else. Without a store its body is ten times larger.
 */
export const PACKED_BESIDE_STORE = 1_800

export type Digest = {
  etag: string
  status: number
  htmlBytes: number
  renderedAt: Date
  facts: PageFacts
}

export type Stored = { page: PageId; customDomain: DomainName; html: string }

const MOST_AT_ONCE = 16

/** Keeps digests of pages beside the renders, one batch after the other. */
export class Digester {
  readonly #log: Log
  readonly #keep
  readonly #waiting = new Set<Promise<unknown>>()

  constructor(pool: pg.Pool, bodies: BodyStore, log: Log) {
    this.#log = log
    const limitBytes = bodies.isOn ? PACKED_BESIDE_STORE : undefined
    this.#keep = joined((all: readonly Stored[]) => keepDigests(pool, all, limitBytes), {
      most: MOST_AT_ONCE,
      underWay: 1,
    })
  }

  note(stored: Stored): void {
    if (this.#waiting.size >= WAITING_LIMIT || stored.html.length > DIGEST_LIMIT_CHARS) return
    const kept = this.#keep(stored)
      .catch((error: Error) =>
        this.#log.warn({ err: error, domain: stored.customDomain }, 'what a page says could not be kept'),
      )
      .finally(() => this.#waiting.delete(kept))
    this.#waiting.add(kept)
  }

  /** Resolves when everything noted so far is stored or dropped. */
  async close(): Promise<void> {
    await Promise.all(this.#waiting)
  }
}

/**
 * Returns whether the digest of each page was kept. It is not if the page was replaced, or equals the last digest. Texts, links and
 * structured data are shortened until a digest has at most `limitBytes`.
 */
export async function keepDigests(
  db: Queryable,
  all: readonly Stored[],
  limitBytes = Number.POSITIVE_INFINITY,
): Promise<boolean[]> {
  const asked = all.map((stored) => ({ ...stored, etag: etagOf(stored.html) }))
  const { rows } = await db.query<{ at: number }>({
    name: 'store-are-new-digests',
    text: `select g.at::integer from ${GIVEN}
       cross join lateral (
         select from page p where p.domain_id = g.domain_id and p.path = g.path and p.variant = g.variant and p.etag = g.etag
            and g.etag is distinct from (
              select d.etag from page_digest d where d.domain_id = g.domain_id and d.path = g.path and d.variant = g.variant
               order by d.id desc limit 1)) p`,
    values: valuesOf(asked),
  })
  const fresh = rows.map(({ at }) => asked[at - 1]!)
  if (fresh.length === 0) return all.map(() => false)
  const packed: string[] = []
  for (const { page, customDomain, html } of fresh) {
    const facts = factsOf(html, `https://${customDomain}${page.path}`, DIGEST_FACTS)
    packed.push((await packFacts(facts, limitBytes)).toString('base64'))
    await setImmediate()
  }
  // Store nothing if the page was purged meanwhile.
  const { rows: kept } = await db.query<{ domain_id: number; path: string; variant: string }>({
    name: 'store-keep-digests',
    text: `with kept as (
       insert into page_digest (domain_id, path, variant, etag, status, html_bytes, rendered_at, facts)
       select p.domain_id, p.path, p.variant, p.etag, p.status, p.html_bytes, p.rendered_at, decode(($5::text[])[g.at], 'base64')
         from ${GIVEN} join page p using (domain_id, path, variant, etag)
       returning domain_id, path, variant
     ), old as (
       delete from page_digest where id in (
         select d.id from kept cross join lateral (
           select id from page_digest d where d.domain_id = kept.domain_id and d.path = kept.path and d.variant = kept.variant
            order by id desc offset $6 - 1 limit 100) d)
     )
     select domain_id, path, variant from kept`,
    values: [...valuesOf(fresh), packed, DIGESTS_A_PAGE],
  })
  const keys = new Set(kept.map(({ domain_id, path, variant }) => `${domain_id} ${path} ${variant}`))
  return all.map(({ page }) => keys.has(`${page.domain} ${page.path} ${page.variant}`))
}

/** Shorter digests are cut at the same few places, so that those of two versions of a page can be compared. */
const SHORTER = 0.75
/** What is left then is not shortened: title, headings and the like. */
const LEAST_SHARE = 0.01

async function packFacts(facts: PageFacts, limitBytes: number): Promise<Buffer> {
  for (let share = 1; ; share *= SHORTER) {
    const kept = share === 1 ? facts : shortened(facts, share)
    const packed = await packText(Buffer.from(JSON.stringify(kept)))
    if (packed.length <= limitBytes || share < LEAST_SHARE) return packed
  }
}

/** Keeps a share of what a digest may have of each list. */
function shortened(facts: PageFacts, share: number): PageFacts {
  let textLeft = Math.floor(DIGEST_FACTS.textChars * share)
  const text: string[] = []
  for (const line of facts.text) {
    if (textLeft <= 0) break
    text.push(line.slice(0, textLeft))
    textLeft -= line.length
  }
  let structuredLeft = Math.floor(DIGEST_FACTS.structuredChars * share)
  const structured = facts.structured.map((one) => {
    const json = one.json.slice(0, Math.max(0, structuredLeft))
    structuredLeft -= json.length
    return { ...one, json }
  })
  return { ...facts, text, structured, links: facts.links.slice(0, Math.floor(DIGEST_FACTS.links * share)) }
}

const GIVEN = `unnest($1::integer[], $2::text[], $3::text[], $4::text[]) with ordinality as g (domain_id, path, etag, variant, at)`

function valuesOf(all: readonly { page: PageId; etag: string }[]): unknown[] {
  return [
    all.map(({ page }) => page.domain),
    all.map(({ page }) => page.path),
    all.map(({ etag }) => etag),
    all.map(({ page }) => page.variant),
  ]
}

/** Lists the digests of a page, newest first. */
export async function listDigests(db: Queryable, page: PageId): Promise<Digest[]> {
  const { rows } = await db.query<{
    etag: string
    status: number
    html_bytes: number
    rendered_at: Date
    facts: Buffer
  }>(
    `select etag, status, html_bytes, rendered_at, facts from page_digest
      where domain_id = $1 and path = $2 and variant = $3 order by id desc limit $4`,
    [page.domain, page.path, page.variant, DIGESTS_A_PAGE],
  )
  return Promise.all(
    rows.map(async ({ etag, status, html_bytes, rendered_at, facts }) => ({
      etag,
      status,
      htmlBytes: html_bytes,
      renderedAt: rendered_at,
      facts: JSON.parse(await htmlOf({ bodyBr: facts }, FACTS_LIMIT_BYTES)) as PageFacts,
    })),
  )
}

/** Returns how many. */
export function removeOldDigests(pool: pg.Pool, steps: Steps = {}): Promise<number> {
  return removeOld(pool, { table: 'page_digest', at: 'rendered_at', keptDays: KEPT_DAYS }, steps)
}
