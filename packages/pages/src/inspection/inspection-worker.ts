import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { Visitor } from '@prepaint/contract/outcome/outcome.ts'
import { type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { factsOf } from '@prepaint/contract/reading/facts.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { htmlOf, readStored } from '../store/stored-page.ts'
import { INSPECTION_CHANNEL } from './inspections.ts'
import { type NoSide, type Side, storableJson } from './side.ts'

/** Produced by `packages/engine/src/render/inspect-page.ts`. */
export type Looked = Omit<Side, 'facts'> & { picture: Buffer; html: string | null }

export type InspectionDeps = {
  pool: pg.Pool
  notifications: { on(channel: string, take: () => void): void; onLost(react: () => void): void }
  look(request: {
    customDomain: DomainName
    originUrl: string
    path: PagePath
    visitor?: Visitor | undefined
    originHeaders?: readonly string[] | undefined
    given?: { status: number; html: string }
    signal: AbortSignal
  }): Promise<Looked>
  openHeaders?: OpenOriginHeaders
  log: Log
}

/** Without renewal for this long another node takes it; it fails when two nodes died. */
const LEASE_SECONDS = 30
const ATTEMPTS = 2
const POLL_MS = 10_000
const WANTED_MS = 2_000

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

type Claimed = {
  id: string
  domain_id: DomainId
  path: PagePath
  variant: PageVariant
  attempts: number
  state: string
  custom_domain: DomainName
  origin_url: string
  settings: unknown
  sealed_headers: Buffer | null
}

// An expired lease counts as queued. The domain's row is not locked: its deletion deletes the inspection.
const CLAIM = `
  with next as (
    select id from inspection
     where state = 'queued' or (state = 'running' and lease_until < now())
     order by requested_at limit 1 for update skip locked
  )
  update inspection i set
    state = case when i.attempts >= $2 then 'failed' else 'running' end,
    reason = case when i.attempts >= $2 then 'the nodes that looked at it died' end,
    finished_at = case when i.attempts >= $2 then now() end,
    node = $1, attempts = i.attempts + 1, lease_until = now() + make_interval(secs => $3)
   from next, domain d
  where i.id = next.id and d.id = i.domain_id
  returning i.id, i.domain_id, i.path, i.variant, i.attempts, i.state, d.custom_domain, d.origin_url, d.settings,
    (select key_sealed from origin_header where domain_id = d.id) as sealed_headers`

const RENEW = `
  update inspection set lease_until = now() + make_interval(secs => $4)
   where id = $1 and node = $2 and attempts = $3 and state = 'running'`

/** Reconnects after database failures. */
export function startInspectionWorker(
  deps: InspectionDeps,
  { node, pollMs = POLL_MS }: { node: string; pollMs?: number },
): InspectionWorker {
  return new InspectionWorker(deps, node, pollMs)
}

class InspectionWorker {
  readonly #deps: InspectionDeps
  readonly #node: string
  readonly #closing = new AbortController()
  readonly #timer: NodeJS.Timeout
  #isWoken = false
  #working: Promise<void> | null = null

  constructor(deps: InspectionDeps, node: string, pollMs: number) {
    this.#deps = deps
    this.#node = node
    const wake = () => this.#wake()
    deps.notifications.on(INSPECTION_CHANNEL, wake)
    deps.notifications.onLost(wake)
    this.#timer = setInterval(wake, pollMs)
    wake()
  }

  #wake(): void {
    this.#isWoken = true
    this.#working ??= this.#work().finally(() => {
      this.#working = null
      if (this.#isWoken && !this.#closing.signal.aborted) this.#wake()
    })
  }

  async #work(): Promise<void> {
    const { pool, log } = this.#deps
    try {
      while (!this.#closing.signal.aborted) {
        this.#isWoken = false
        const { rows } = await pool.query<Claimed>(CLAIM, [this.#node, ATTEMPTS, LEASE_SECONDS])
        if (rows[0] === undefined) return
        if (rows[0].state === 'running') await this.#inspect(rows[0])
      }
    } catch (error) {
      log.warn({ err: error }, 'inspections could not be worked on')
    }
  }

  async #inspect(claimed: Claimed): Promise<void> {
    const { pool, log, openHeaders } = this.#deps
    const originHeaders = openHeaders?.(claimed.domain_id, claimed.sealed_headers, 'renders')
    const look: Look = (wanted) => this.#deps.look({ ...wanted, originHeaders })
    const fence = [claimed.id, this.#node, claimed.attempts]
    const unwanted = new AbortController()
    const signal = AbortSignal.any([unwanted.signal, this.#closing.signal])
    const renew = () =>
      pool
        .query(RENEW, [...fence, LEASE_SECONDS])
        .then(({ rowCount }) => rowCount === 0 && unwanted.abort(new Error('the inspection was deleted')))
        .catch((error: Error) => log.warn({ err: error }, 'the lease of an inspection could not be renewed'))
    const watch = setInterval(() => void renew(), WANTED_MS)
    try {
      const stored = await readStored(pool, pageId(claimed.domain_id, claimed.path, claimed.variant))
      const given = stored?.kind === 'page' ? { status: stored.status, html: await htmlOf(stored) } : null
      const crawler = given === null ? null : await sideOf(look, claimed, signal, given)
      const person = await sideOf(look, claimed, signal)
      const card = crawler === null ? null : await cardOf(look, claimed, crawler.side, signal)
      if (signal.aborted) return
      await pool.query(
        `update inspection set state = 'done', finished_at = now(), lease_until = null, crawler = $4, person = $5,
                crawler_picture = $6, person_picture = $7
          where id = $1 and node = $2 and attempts = $3 and state = 'running'`,
        [
          ...fence,
          crawler && storableJson(card === null ? crawler.side : { ...crawler.side, card }),
          storableJson(person.side),
          crawler?.picture ?? null,
          person.picture,
        ],
      )
    } finally {
      clearInterval(watch)
    }
  }

  async close(): Promise<void> {
    const { pool, log } = this.#deps
    clearInterval(this.#timer)
    this.#closing.abort(new Error('the node ends'))
    await this.#working
    await pool
      .query(
        `update inspection set state = 'queued', node = null, lease_until = null, attempts = attempts - 1
          where node = $1 and state = 'running'`,
        [this.#node],
      )
      .catch((error: Error) => log.warn({ err: error }, 'inspections could not be given back'))
  }
}

type Look = InspectionDeps['look']

/** `given`: show the stored page as crawlers get it; absent: load the page as a person does. */
async function sideOf(
  look: Look,
  { custom_domain, origin_url, path, variant, settings }: Claimed,
  signal: AbortSignal,
  given?: { status: number; html: string },
): Promise<{ side: Side | NoSide; picture: Buffer | null }> {
  try {
    const { picture, html, ...seen } = await look({
      customDomain: custom_domain,
      originUrl: origin_url,
      path,
      visitor: visitorFor(variant, readDomainSettings(settings).render),
      ...(given && { given }),
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
  claimed: Claimed,
  side: Side | NoSide,
  signal: AbortSignal,
): Promise<string | null> {
  const social = 'facts' in side ? side.facts?.social : undefined
  const named = social?.['og:image'] ?? social?.['twitter:image'] ?? ''
  const url = named === '' || !('url' in side) ? null : URL.parse(named, side.url)
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  try {
    const { picture, pictures } = await look({
      customDomain: claimed.custom_domain,
      originUrl: claimed.origin_url,
      path: claimed.path,
      visitor: { viewport: CARD },
      given: { status: 200, html: cardDocument(url) },
      signal,
    })
    return pictures === 0 || picture.length > CARD_LIMIT_BYTES ? null : picture.toString('base64')
  } catch {
    return null
  }
}
