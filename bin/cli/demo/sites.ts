import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { TrafficCounter } from '@prepaint/service/insight/traffic/visit-counter.ts'
import { createDomain, updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import { findOwnedDomain } from '@prepaint/service/sites/domains.ts'
import { replaceTags } from '@prepaint/service/sites/tags.ts'
import type pg from 'pg'
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

type Site = { name: string; tag: string; kind: Kind; at: number }

/** The sites beside the shop: `count` of them, always the same. */
function listSites(count: number): Site[] {
  return Array.from({ length: count }, (_, at) => {
    const client = CLIENTS[at % CLIENTS.length]!
    const trade = TRADES[(at + Math.floor(at / CLIENTS.length)) % TRADES.length]!
    const plain = client.toLowerCase().replace('ü', 'u')
    return { name: `${plain}-${trade}.localhost`, tag: client, kind: KINDS[at] ?? 'fine', at }
  })
}

/** Origins that are in trouble, beside the shop. */
export type BadOrigins = { blocked: string; unreachable: string; ports: number[]; close(): Promise<void> }

/** One that answers everything as a bot guard does, and an address where nobody listens. */
export async function startBadOrigins(): Promise<BadOrigins> {
  const guard = http.createServer((_request, response) => {
    response.writeHead(403, { 'content-type': 'text/html', 'cf-mitigated': 'challenge' })
    response.end('<!doctype html><title>Just a moment...</title><p>Checking that you are human.')
  })
  const gone = http.createServer()
  const [blocked, unreachable] = [await listen(guard), await listen(gone)]
  await new Promise<void>((resolve) => gone.close(() => resolve()))
  const urlOf = (port: number) => `http://127.0.0.1:${port}`
  return {
    blocked: urlOf(blocked),
    unreachable: urlOf(unreachable),
    ports: [blocked, unreachable],
    close: () =>
      new Promise((resolve) => {
        guard.close(() => resolve())
        guard.closeAllConnections()
      }),
  }
}

async function listen(server: http.Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
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

/**
 * Registers sites of ten clients, with visits of the last month where they are new, and lets crawlers visit those that have some: pages
 * are rendered, and three sites are in trouble within minutes, for their own reasons. Sites of an earlier start get their origins again.
 */
export async function prepareSites(count: number, parts: SitesParts): Promise<void> {
  const { pool, account, bad, shopUrl, nowMs } = parts
  const view = { plans: DEFAULT_PLANS, nowMs }
  const sites = listSites(count)
  const added: { id: DomainId; site: Site }[] = []
  for (const site of sites) {
    const parsed = parseDomainName(site.name)
    if (!parsed.ok) throw new Error(`${site.name} ${parsed.reason}`)
    const { name } = parsed
    const originUrl = site.kind === 'blocked' || site.kind === 'unreachable' ? bad[site.kind] : shopUrl
    const known = await findOwnedDomain(pool, wholeAccount(account), name)
    const id = known?.id ?? (await createDomain(pool, account, { name, originUrl, proof: 'off' }, view)).id
    await updateDomain(pool, account, name, { originUrl, isActive: site.kind !== 'paused' }, view)
    if (known !== null) continue
    await replaceTags(pool, account, id, [site.tag])
    added.push({ id, site })
  }
  await countEarlierVisits(added, parts)
  await visitAll(sites, parts.edgeUrl)
}

const DAYS = 30
const DAY_MS = 24 * 60 * 60_000
const TIMES_A_DAY = 6

const CRAWLERS = [
  {
    category: 'search',
    userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    share: 5,
  },
  {
    category: 'search',
    userAgent: 'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    share: 2,
  },
  {
    category: 'ai-training',
    userAgent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    share: 2,
  },
  { category: 'social', userAgent: 'facebookexternalhit/1.1', share: 1 },
] as const

/** One of ten answers. */
const VERDICTS: readonly Verdict[] = ['rendered', 'stale', ...Array<Verdict>(8).fill('hit')]

/** Visits as the edge would have counted them. */
async function countEarlierVisits(
  added: readonly { id: DomainId; site: Site }[],
  { pool, nowMs, log }: SitesParts,
): Promise<void> {
  let atMs = nowMs
  const counter = new TrafficCounter(pool, new VisitedNotices(pool, log), { nowMs: () => atMs }, log)
  for (const { id, site } of added) {
    if (site.kind === 'new') continue
    // Crawlers came to this one until the day before yesterday.
    const lastDay = site.kind === 'deserted' ? 2 : 0
    for (let day = DAYS; day >= lastDay; day--) {
      for (let time = 0; time < TIMES_A_DAY; time++) {
        atMs = nowMs - day * DAY_MS - (TIMES_A_DAY - 1 - time) * (DAY_MS / TIMES_A_DAY) - 5 * 60_000
        // Some sites have ten times the visits of others, and most grow.
        const visits = 10 + ((site.at * 37) % 90) + Math.floor((DAYS - day) * ((site.at % 5) - 1) * 0.8)
        countVisits(counter, id, Math.max(2, Math.round(visits / 3)))
      }
    }
  }
  atMs = nowMs
  await counter.close()
}

function countVisits(counter: TrafficCounter, id: DomainId, visits: number): void {
  const domain = { id, query: 'keep' } as const
  const page = pageId(id, '/' as PagePath)
  for (let visit = 0; visit < visits; visit++) {
    const verdict = VERDICTS[visit % VERDICTS.length]!
    const seconds = verdict === 'rendered' ? 0.4 : 0.004
    for (const { category, userAgent, share } of CRAWLERS) {
      if (visit % CRAWLERS[0].share >= share) continue
      const answer = { verdict, crawler: category, seconds, status: 200, domain, page }
      counter.count({ url: '/', headers: { 'user-agent': userAgent } }, answer)
    }
    const passed = {
      verdict: 'pass; not-a-crawler',
      crawler: null,
      seconds: 0.03,
      status: 200,
      domain,
      page: null,
    } as const
    counter.count({ url: '/', headers: {} }, passed)
  }
}

const PAGES = ['/', '/product/morning-mug']
/** Enough pages for incidents to open. */
const PAGES_IN_TROUBLE = Array.from({ length: 6 }, (_, page) => `/page-${page + 1}`)
const VISITS_AT_ONCE = 4

async function visitAll(sites: readonly Site[], edgeUrl: string): Promise<void> {
  const visits = sites.flatMap(({ name, kind }) => {
    if (kind === 'new' || kind === 'paused' || kind === 'deserted') return []
    const pages = kind === 'fine' ? PAGES : PAGES_IN_TROUBLE
    return pages.map((page) => ({ name, page }))
  })
  const [{ userAgent }] = CRAWLERS
  const next = visits.values()
  const visitor = async () => {
    for (const { name, page } of next) await askPage(edgeUrl + page, { host: name, userAgent })
  }
  await Promise.all(Array.from({ length: VISITS_AT_ONCE }, visitor))
}
