import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { Visitor } from '@prepaint/contract/outcome/outcome.ts'
import { type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { factsOf } from '@prepaint/contract/reading/facts.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import { lockLease, type Task, type TaskKind } from '@prepaint/postgres/tasks'
import { transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { BodyStore } from '../store/bodies/body-store.ts'
import { htmlOf, readStored } from '../store/stored-page.ts'
import { INSPECTION_TASK, INSPECTIONS_OPEN } from './inspections.ts'
import { type NoSide, type Side, storableJson } from './side.ts'

/** Produced by `packages/engine/src/render/inspect-page.ts`. */
export type Looked = Omit<Side, 'facts'> & { picture: Buffer; html: string | null }

/** Looks at a page in a browser. */
export type Look = (request: {
  customDomain: DomainName
  originUrl: string
  path: PagePath
  visitor?: Visitor | undefined
  originHeaders?: readonly string[] | undefined
  given?: { status: number; html: string } | undefined
  signal: AbortSignal
}) => Promise<Looked>

/** It fails when so many nodes died while they looked at it. */
const ATTEMPTS = 2

/** CSS pixels: the shape of link previews. */
const CARD = { width: 600, height: 315 }
const CARD_LIMIT_BYTES = 200_000

/** A parsed URL has no quotes or angle brackets, but may have ampersands. */
function cardDocument(url: URL): string {
  const src = url.href
    .replaceAll('&', '&amp;')
    .replaceAll('"', '%22')
    .replaceAll('<', '%3C')
    .replaceAll('>', '%3E')
  const size = `width: ${CARD.width}px; height: ${CARD.height}px`
  return `<!DOCTYPE html><style>body { margin: 0 } img { display: block; object-fit: cover; ${size} }</style><img src="${src}">`
}

type Begun = {
  id: string
  domain_id: DomainId
  path: PagePath
  variant: PageVariant
  custom_domain: DomainName
  origin_url: string
  settings: unknown
  sealed_headers: Buffer | null
}

// The domain's row is not locked: its deletion deletes the inspection. A node of version 0.2.0 that looks at it has a
// lease in the row; it takes none without one, so it leaves ours alone.
const BEGIN = `
  update inspection i set state = 'running', node = null, lease_until = null
    from domain d
   where i.id = $1 and d.id = i.domain_id
     and (i.state = 'queued' or (i.state = 'running' and (i.lease_until is null or i.lease_until < now())))
  returning i.id, i.domain_id, i.path, i.variant, d.custom_domain, d.origin_url, d.settings,
    (select key_sealed from origin_header where domain_id = d.id) as sealed_headers`

/** A task for each inspection: a rendering node looks at the page, as crawlers and as people get it. */
export class InspectionWorker implements TaskKind {
  readonly name = INSPECTION_TASK
  readonly slots = 1
  readonly perAccount = INSPECTIONS_OPEN
  readonly faultMessage = 'inspections could not be worked on'
  readonly subjects = `
    select i.id as key, d.account_id, now() as due_at from inspection i join domain d on d.id = i.domain_id
     where i.state in ('queued', 'running')`
  readonly #pool: pg.Pool
  readonly #bodies: BodyStore
  readonly #look: Look
  readonly #openHeaders: OpenOriginHeaders | null

  /** Without `openHeaders`, no headers of the owner are sent to the origin. */
  constructor(pool: pg.Pool, bodies: BodyStore, look: Look, openHeaders: OpenOriginHeaders | null) {
    this.#bodies = bodies
    this.#pool = pool
    this.#look = look
    this.#openHeaders = openHeaders
  }

  async run(task: Task, signal: AbortSignal): Promise<number | null> {
    const pool = this.#pool
    if (task.failures >= ATTEMPTS) {
      await pool.query(
        `update inspection set state = 'failed', reason = 'the nodes that looked at it died', finished_at = now()
          where id = $1 and state in ('queued', 'running')`,
        [task.key],
      )
      return null
    }
    const { rows } = await pool.query<Begun>(BEGIN, [task.key])
    if (rows[0] === undefined) return this.#msOfOtherLease(task.key)
    await this.#inspect(task, rows[0], signal)
    return null
  }

  async #inspect(task: Task, begun: Begun, signal: AbortSignal): Promise<void> {
    const pool = this.#pool
    const originHeaders = this.#openHeaders?.(begun.domain_id, begun.sealed_headers, 'renders')
    const look: Look = (wanted) => this.#look({ ...wanted, originHeaders })
    const stored = await readStored(pool, pageId(begun.domain_id, begun.path, begun.variant), this.#bodies)
    const given = stored?.kind === 'page' ? { status: stored.status, html: await htmlOf(stored) } : null
    const crawler = given === null ? null : await sideOf(look, begun, signal, given)
    const person = await sideOf(look, begun, signal)
    const card = crawler === null ? null : await cardOf(look, begun, crawler.side, signal)
    await transaction(pool, async (client) => {
      if (!(await lockLease(client, task))) return
      if (signal.aborted) {
        await client.query(`update inspection set state = 'queued' where id = $1 and state = 'running'`, [
          begun.id,
        ])
        return
      }
      await client.query(
        `update inspection set state = 'done', finished_at = now(), crawler = $2, person = $3,
                crawler_picture = $4, person_picture = $5
          where id = $1 and state = 'running'`,
        [
          begun.id,
          crawler && storableJson(card === null ? crawler.side : { ...crawler.side, card }),
          storableJson(person.side),
          crawler?.picture ?? null,
          person.picture,
        ],
      )
    })
    signal.throwIfAborted()
  }

  /** Milliseconds until a node of version 0.2.0 must have looked at it. Null: it has ended, or was deleted. */
  async #msOfOtherLease(id: string): Promise<number | null> {
    const { rows } = await this.#pool.query<{ ms: number }>(
      `select greatest(1000, extract(epoch from lease_until - clock_timestamp()) * 1000)::float8 as ms from inspection
        where id = $1 and state = 'running'`,
      [id],
    )
    return rows[0]?.ms ?? null
  }
}

/** `given`: show the stored page as crawlers get it; absent: load the page as a person does. */
async function sideOf(
  look: Look,
  { custom_domain, origin_url, path, variant, settings }: Begun,
  signal: AbortSignal,
  given?: { status: number; html: string },
): Promise<{ side: Side | NoSide; picture: Buffer | null }> {
  try {
    const { picture, html, ...seen } = await look({
      customDomain: custom_domain,
      originUrl: origin_url,
      path,
      visitor: visitorFor(variant, readDomainSettings(settings).render),
      given,
      signal,
    })
    const document = given?.html ?? html
    const facts = document === null ? null : factsOf(document, seen.url)
    return { side: { ...seen, facts }, picture }
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'unknown'
    return { side: { reason }, picture: null }
  }
}

/** Drawn here because the dashboard loads no files of a site. */
async function cardOf(
  look: Look,
  begun: Begun,
  side: Side | NoSide,
  signal: AbortSignal,
): Promise<string | null> {
  const social = 'facts' in side ? side.facts?.social : undefined
  const named = social?.['og:image'] ?? social?.['twitter:image'] ?? ''
  const url = named === '' || !('url' in side) ? null : URL.parse(named, side.url)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  try {
    const { picture, pictures } = await look({
      customDomain: begun.custom_domain,
      originUrl: begun.origin_url,
      path: begun.path,
      visitor: { viewport: CARD },
      given: { status: 200, html: cardDocument(url) },
      signal,
    })
    return pictures === 0 || picture.length > CARD_LIMIT_BYTES ? null : picture.toString('base64')
  } catch {
    return null
  }
}
