import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { announceHost } from '@prepaint/runtime/invalidation.ts'
import type { DomainId, DomainName, PagePath } from '../ids.ts'
import type { Visitor } from '../outcome/outcome.ts'
import type { PageVariant } from '../page/page-id.ts'
import type { Rule, RuleRender } from '../rules/schema.ts'
import { type DomainSettings, readDomainSettings } from './domain-settings.ts'

export type ComparedPage = { path: string; differs: boolean }

/** Whether phones have pages of their own. A path that was not compared is like its first segment, or the domain. */
export class Devices {
  readonly #setting: DomainSettings['devices']
  readonly #findings = new Map<string, boolean>()

  constructor(setting: DomainSettings['devices'], compared: readonly ComparedPage[]) {
    this.#setting = setting
    for (const { path, differs } of compared) {
      // Keys without `/` are segments and the domain.
      const above = [`segment ${firstSegment(path)}`, 'domain']
      for (const key of above) this.#findings.set(key, differs || this.#findings.get(key) === true)
      this.#findings.set(path, differs)
    }
  }

  get mayTellApart(): boolean {
    return this.#setting === 'both' || (this.#setting === 'auto' && this.#findings.get('domain') === true)
  }

  tellsApart(path: string): boolean {
    if (this.#setting === 'both' || !this.mayTellApart) return this.mayTellApart
    return this.#findings.get(path) ?? this.#findings.get(`segment ${firstSegment(path)}`) ?? true
  }
}

/** Of `/a/b?c`: `a`. */
export function firstSegment(path: string): string {
  return path.split(/[/?]/, 2)[1] ?? ''
}

/** In a query on `domain d`. */
export const DEVICE_PAGES = `
  (select json_agg(json_build_object('path', c.path, 'differs', cardinality(c.differences) > 0))
     from device_page c where c.domain_id = d.id and c.checked_at is not null)`

export async function readDevices(db: Queryable, domain: DomainId): Promise<Devices> {
  const { rows } = await db.query<{ settings: unknown; pages: ComparedPage[] | null }>({
    name: 'devices-read',
    text: `select d.settings, ${DEVICE_PAGES} as pages from domain d where d.id = $1`,
    values: [domain],
  })
  return new Devices(readDomainSettings(rows[0]?.settings).devices, rows[0]?.pages ?? [])
}

export const DEVICE_DIFFERENCES = [
  'text',
  'links',
  'title',
  'description',
  'canonical',
  'structured_data',
  'status',
] as const
export type DeviceDifference = (typeof DEVICE_DIFFERENCES)[number]

export type DevicePage = {
  path: PagePath
  requestedAt: Date
  /** The last comparison that could be made. */
  checkedAt: Date | null
  differences: DeviceDifference[]
}

/** By path. Also paths whose first comparison is under way. */
export async function listDevicePages(db: Queryable, domain: DomainId): Promise<DevicePage[]> {
  const { rows } = await db.query<DevicePage>(
    `select path, requested_at as "requestedAt", checked_at as "checkedAt", differences
       from device_page where domain_id = $1 order by path`,
    [domain],
  )
  return rows
}

/** A domain keeps the findings of its last comparisons. */
const PAGES_KEPT = 50

/** Call before queueing both variants of these paths. */
export async function requestComparison(
  db: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<void> {
  await db.query(
    `with asked as (
       insert into device_page (domain_id, path)
       select $1, path from unnest($2::text[]) path order by path collate "C"
       on conflict (domain_id, path) do update set requested_at = now())
     delete from device_page where domain_id = $1 and path in (
       select path from device_page where domain_id = $1 and path <> all ($2)
        order by requested_at desc offset $3)`,
    [domain, [...paths].sort(), Math.max(0, PAGES_KEPT - paths.length)],
  )
}

export async function recordComparison(
  db: Queryable,
  { domain, name, path }: { domain: DomainId; name: DomainName; path: PagePath },
  differences: readonly DeviceDifference[],
): Promise<void> {
  const { rowCount } = await db.query(
    `update device_page set checked_at = now(), differences = $3
      where domain_id = $1 and path = $2 and (checked_at is null or checked_at < requested_at)`,
    [domain, path, differences],
  )
  if (rowCount === 1) await announceHost(db, name)
}

type Wishes = Omit<RuleRender, 'wait_for' | 'wait_ms' | 'block'>

/** Phones have a screen and user agent of their own: only a rule that is for phones alone changes those. */
export function visitorFor(variant: PageVariant, usual: Wishes = {}, rule: Rule | null = null): Visitor {
  const wanted = { ...usual, ...rule?.render }
  const { locale, time_zone: timeZone } = wanted
  if (variant === 'desktop')
    return { userAgent: wanted.user_agent, viewport: wanted.viewport, locale, timeZone }
  const { user_agent: userAgent, viewport } = (rule?.when?.variant === 'mobile' && rule.render) || {}
  return { userAgent, viewport, locale, timeZone, device: variant }
}

/** As the API gives it. */
export async function devicesView(
  db: Queryable,
  { id, name, settings }: { id: DomainId; name: DomainName; settings: DomainSettings },
) {
  const pages = await listDevicePages(db, id)
  const times = pages.flatMap(({ checkedAt }) => checkedAt?.getTime() ?? [])
  const finding = pages.some(({ differences }) => differences.length > 0) ? 'different' : 'alike'
  return {
    domain: name,
    devices: settings.devices,
    finding: times.length === 0 ? null : (finding as 'different' | 'alike'),
    checked_at: times.length === 0 ? null : new Date(Math.max(...times)).toISOString(),
    pages: pages.map(({ path, checkedAt, differences }) => ({
      path,
      alike: checkedAt === null ? null : differences.length === 0,
      differences,
      checked_at: checkedAt?.toISOString() ?? null,
    })),
  }
}
