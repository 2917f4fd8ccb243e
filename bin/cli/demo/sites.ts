import { setTimeout as sleep } from 'node:timers/promises'
import type { TemplateSettings } from '@prepaint/contract/api/templates.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { rerenderPages } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { createDomain, updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { findOwnedDomain } from '@prepaint/service/sites/domains.ts'
import { replaceTags } from '@prepaint/service/sites/tags.ts'
import { createTemplate, listTemplates } from '@prepaint/service/sites/templates.ts'
import type pg from 'pg'
import { CRAWLERS, countEarlier, PAGES } from './earlier.ts'
import type { BadOrigins } from './origins.ts'
import { askPage } from './steps.ts'

/** With the shop, as many as the plan of the demo has. */
export const MOST_SITES = 100

const TRADES = [
  'bakery',
  'bikes',
  'books',
  'ceramics',
  'cheese',
  'dental',
  'flowers',
  'garden',
  'guitars',
  'hotel',
]
const CLIENTS = ['Oak', 'Harbour', 'Müller', 'Nord', 'Lumen', 'Vega', 'Kestrel', 'Atlas', 'Juniper', 'Quarry']

/** What is wrong with a site, or what state it is in. */
type Kind = 'fine' | 'unreachable' | 'blocked' | 'deserted' | 'new' | 'paused'
/** The first sites have these, one each. */
const KINDS: readonly Kind[] = ['unreachable', 'blocked', 'deserted', 'new', 'new', 'paused']

type Site = { name: string; tag: string; kind: Kind; at: number; settings: TemplateSettings }

/** Of the sites after those of a kind each: others than the defaults, so that templates have something to change. */
const OTHER_SETTINGS: readonly TemplateSettings[] = [
  { fresh_seconds: 3_600, refresh_ahead_percent: 30 },
  { fresh_seconds: 7 * 86_400, soft_404: 'store' },
  { categories: { ai: 'pass' }, cards: 'off' },
]

const TEMPLATE = { name: 'Online shop', settings: { fresh_seconds: 4 * 3_600, devices: 'auto' } } as const

/** What is wrong with the sites in trouble, for the person who looks for them. */
const TROUBLES: { [K in Kind]?: string } = {
  unreachable: 'its origin is down',
  blocked: 'its bot guard blocks renders',
  deserted: 'crawlers stopped coming',
}

/** The sites beside the shop: `count` of them, always the same. */
function listSites(count: number): Site[] {
  return Array.from({ length: count }, (_, at) => {
    const client = CLIENTS[at % CLIENTS.length]!
    const trade = TRADES[(at + Math.floor(at / CLIENTS.length)) % TRADES.length]!
    const plain = client.toLowerCase().replace('ü', 'u')
    const settings = OTHER_SETTINGS[at - KINDS.length] ?? {}
    return { name: `${plain}-${trade}.localhost`, tag: client, kind: KINDS[at] ?? 'fine', at, settings }
  })
}

export type SitesParts = {
  pool: pg.Pool
  account: AccountId
  shopUrl: string
  bad: BadOrigins
  edgeUrl: string
  nowMs: number
  log: Log
}

export type SiteInTrouble = { name: string; trouble: string }

/**
 * Registers sites of ten clients, with visits and renders of the last months where they are new, and lets crawlers visit those that have
 * some: pages are rendered, and then three sites get into trouble, for their own reasons. Returns these. Sites of an earlier start get
 * their origins again.
 */
export async function prepareSites(count: number, parts: SitesParts): Promise<SiteInTrouble[]> {
  const { pool, account, bad, shopUrl, nowMs } = parts
  const view = { plans: DEFAULT_PLANS, nowMs }
  const sites: RegisteredSite[] = []
  const added: RegisteredSite[] = []
  for (const site of listSites(count)) {
    const parsed = parseDomainName(site.name)
    if (!parsed.ok) throw new Error(`${site.name} ${parsed.reason}`)
    const { name } = parsed
    const originUrl = site.kind === 'blocked' || site.kind === 'unreachable' ? bad[site.kind] : shopUrl
    const known = await findOwnedDomain(pool, wholeAccount(account), name)
    const id = known?.id ?? (await createDomain(pool, account, { name, originUrl, proof: 'off' }, view)).id
    const registered = { ...site, name, id }
    sites.push(registered)
    const change = { originUrl, isActive: site.kind !== 'paused' }
    if (known === null) {
      await updateDomain(pool, account, name, { ...change, settings: site.settings }, view)
      await replaceTags(pool, account, id, [site.tag])
      added.push(registered)
    } else {
      await updateDomain(pool, account, name, change, view)
    }
  }
  const templates = await listTemplates(pool, account)
  if (templates.length === 0) await createTemplate(pool, account, TEMPLATE, null)
  const visited = added
    .filter(({ kind }) => kind !== 'new')
    .map(({ id, at, kind }) => ({ id, number: at, isDeserted: kind === 'deserted' }))
  await countEarlier(visited, parts)
  await letSitesFail(sites, parts)
  return sites.flatMap(({ name, kind }) => {
    const trouble = TROUBLES[kind]
    return trouble === undefined ? [] : [{ name, trouble }]
  })
}

type RegisteredSite = Omit<Site, 'name'> & { id: DomainId; name: DomainName }

/** Pages are stored before two origins fail, so that their sites have stored pages whose last render failed. */
async function letSitesFail(
  sites: readonly RegisteredSite[],
  { pool, bad, edgeUrl }: SitesParts,
): Promise<void> {
  const failing = sites.filter(({ kind }) => kind === 'blocked' || kind === 'unreachable')
  const good = sites.filter(({ kind }) => kind === 'fine')
  await visitAll([...failing, ...good], PAGES, edgeUrl)
  for (const { name } of failing) await waitForPages(name, edgeUrl)
  await bad.fail()
  await visitAll(failing, PAGES_IN_TROUBLE, edgeUrl)
  for (const { id } of failing) {
    await transaction(pool, (client) => rerenderPages(client, id, PAGES as PagePath[]))
  }
}

const TRIES = 60
const TRY_EVERY_MS = 1_000

/** On a busy machine, pages are stored after the crawler has left. Gives up a page after a minute. */
async function waitForPages(host: string, edgeUrl: string): Promise<void> {
  const [{ userAgent }] = CRAWLERS
  for (const page of PAGES) {
    for (let tries = 1; tries < TRIES; tries++) {
      const { verdict } = await askPage(edgeUrl + page, { host, userAgent })
      if (verdict === 'hit' || verdict === 'rendered') break
      await sleep(TRY_EVERY_MS)
    }
  }
}

/** Enough pages for incidents to open. */
const PAGES_IN_TROUBLE = Array.from({ length: 6 }, (_, page) => `/page-${page + 1}`)
const VISITS_AT_ONCE = 4

async function visitAll(
  sites: readonly RegisteredSite[],
  pages: readonly string[],
  edgeUrl: string,
): Promise<void> {
  const visits = sites.flatMap(({ name }) => pages.map((page) => ({ name, page })))
  const [{ userAgent }] = CRAWLERS
  const next = visits.values()
  const visitor = async () => {
    for (const { name, page } of next) await askPage(edgeUrl + page, { host: name, userAgent })
  }
  await Promise.all(Array.from({ length: VISITS_AT_ONCE }, visitor))
}
