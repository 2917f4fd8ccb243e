import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'

import type pg from 'pg'
import type { DomainId, DomainName, PagePath } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { Visitor } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { readDomainSettings } from '../domain-settings.ts'
import { factsOf } from './facts.ts'
import { INSPECTION_CHANNEL } from './inspections.ts'
import { type NoSide, type Side, storableJson } from './side.ts'

const decompress = promisify(brotliDecompress)

/** What a look at a page brings; `src/render/look.ts` is what does it. */
export type Looked = Omit<Side, 'facts'> & { picture: Buffer; html: string | null }

export type InspectionDeps = {
  pool: pg.Pool
  notifications: { on(channel: string, take: () => void): void; onLost(react: () => void): void }
  look(request: {
    customDomain: DomainName
    originUrl: string
    path: PagePath
    visitor?: Visitor | undefined
    given?: { status: number; html: string }
    signal: AbortSignal
  }): Promise<Looked>
  log: Log
}

type InspectionWorker = { close(): Promise<void> }

/** A node that dies over one leaves it to another; who dies over it twice may be why. */
const LEASE_SECONDS = 30
const ATTEMPTS = 2
/** How often a node looks by itself, and whether what it is at is still wanted. */
const POLL_MS = 10_000
const WANTED_MS = 2_000

/** CSS pixels: the shape that networks want. */
const CARD = { width: 600, height: 315 }
const CARD_LIMIT_BYTES = 200_000

/** A URL that was parsed holds neither quotes nor angle brackets, but an ampersand is one of markup. */
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
  attempts: number
  state: string
  custom_domain: DomainName
  origin_url: string
  settings: unknown
}

// A lease that ended counts as queued. The row of the domain is read, not locked: its deletion takes the inspection along.
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
  returning i.id, i.domain_id, i.path, i.attempts, i.state, d.custom_domain, d.origin_url, d.settings`

const RENEW = `
  update inspection set lease_until = now() + make_interval(secs => $4)
   where id = $1 and node = $2 and attempts = $3 and state = 'running'`

/** Takes inspections one by one, while this node renders. Heals by itself when the database was away. */
export function startInspectionWorker(
  { pool, notifications, look, log }: InspectionDeps,
  { node, pollMs = POLL_MS }: { node: string; pollMs?: number },
): InspectionWorker {
  const closing = new AbortController()
  let woken = false
  let working: Promise<void> | null = null
  notifications.on(INSPECTION_CHANNEL, wake)
  notifications.onLost(wake)
  const timer = setInterval(wake, pollMs)
  wake()

  function wake(): void {
    woken = true
    working ??= work().finally(() => {
      working = null
      if (woken && !closing.signal.aborted) wake()
    })
  }

  async function work(): Promise<void> {
    try {
      while (!closing.signal.aborted) {
        woken = false
        const { rows } = await pool.query<Claimed>(CLAIM, [node, ATTEMPTS, LEASE_SECONDS])
        if (rows[0] === undefined) return
        if (rows[0].state === 'running') await inspect(rows[0])
      }
    } catch (error) {
      log.warn({ err: error }, 'inspections could not be worked on')
    }
  }

  async function inspect(claimed: Claimed): Promise<void> {
    const unwanted = new AbortController()
    const signal = AbortSignal.any([unwanted.signal, closing.signal])
    // Its domain may be deleted, or the page purged: then nobody waits for it. Else it stays ours.
    const renew = () =>
      pool
        .query(RENEW, [claimed.id, node, claimed.attempts, LEASE_SECONDS])
        .then(({ rowCount }) => rowCount === 0 && unwanted.abort(new Error('nobody wants it any more')))
        .catch((error: Error) => log.warn({ err: error }, 'an inspection could not be held on to'))
    const watch = setInterval(() => void renew(), WANTED_MS)
    try {
      const crawler = await ofCrawler(claimed, signal)
      const person = await sideOf(claimed, signal)
      const card = crawler === null ? null : await cardOf(claimed, crawler.side, signal)
      if (signal.aborted) return
      await pool.query(
        `update inspection set state = 'done', finished_at = now(), lease_until = null, crawler = $4, person = $5,
                crawler_picture = $6, person_picture = $7
          where id = $1 and node = $2 and attempts = $3 and state = 'running'`,
        [
          ...[claimed.id, node, claimed.attempts],
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

  /** The stored page, shown as it is given to crawlers; null: there is none. */
  async function ofCrawler(claimed: Claimed, signal: AbortSignal) {
    const stored = await readStored(pool, pageId(claimed.domain_id, claimed.path))
    if (stored?.kind !== 'page') return null
    const html = (await decompress(stored.bodyBr)).toString()
    return sideOf(claimed, signal, { status: stored.status, html })
  }

  async function sideOf(
    { custom_domain, origin_url, path, settings }: Claimed,
    signal: AbortSignal,
    given?: { status: number; html: string },
  ): Promise<{ side: Side | NoSide; picture: Buffer | null }> {
    try {
      const { picture, html, ...seen } = await look({
        customDomain: custom_domain,
        originUrl: origin_url,
        path,
        visitor: readDomainSettings(settings).render,
        ...(given && { given }),
        signal,
      })
      const document = given?.html ?? html
      const facts = document === null ? null : factsOf(document, seen.url)
      return { side: { ...seen, facts }, picture }
    } catch (error) {
      return {
        side: { reason: error instanceof Error ? error.message.slice(0, 300) : 'unknown' },
        picture: null,
      }
    }
  }

  /** What networks would show of a link to it, drawn by our browser: nobody else loads a stranger's file. In base64. */
  async function cardOf(claimed: Claimed, side: Side | NoSide, signal: AbortSignal): Promise<string | null> {
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

  return {
    async close() {
      clearInterval(timer)
      closing.abort(new Error('the node ends'))
      await working
      // Another node takes up at once what this one could not finish.
      await pool
        .query(
          `update inspection set state = 'queued', node = null, lease_until = null, attempts = attempts - 1
            where node = $1 and state = 'running'`,
          [node],
        )
        .catch((error: Error) => log.warn({ err: error }, 'inspections could not be given back'))
    },
  }
}
