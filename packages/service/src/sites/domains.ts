import { utcMonth } from '@prepaint/contract/dates.ts'
import type { AccountId, DomainId, DomainName, Scope } from '@prepaint/contract/ids.ts'
import type { ComparedPage } from '@prepaint/contract/settings/devices.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { Redirect } from '@prepaint/contract/site-files/redirects.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import { DEVICE_PAGES } from '@prepaint/pages/store/device-pages.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { IS_SERVED } from './proof/stored-proof.ts'

/** Times are ISO 8601 UTC with milliseconds. */
export type Domain = {
  id: DomainId
  custom_domain: DomainName
  origin_url: string
  ssl_enabled: boolean
  /** Renders in the current UTC month. */
  renders_used: number
  monthly_render_limit: number
  is_active: boolean
  created_at: string
  updated_at: string
}

/** `indexnow_key` is null if IndexNow was never switched on. */
export type DomainWithSettings = Domain & { settings: DomainSettings; indexnow_key: string | null }

export type DomainView = { plans: PlanCatalogue; nowMs: number }

export type OwnedDomain = {
  id: DomainId
  name: DomainName
  isActive: boolean
  /** False until its account has proven that the name is its own, if that is asked. */
  isServed: boolean
  originUrl: string
  settings: DomainSettings
  indexnowKey: string | null
}

export async function listDomains(
  db: Queryable,
  { account, domains }: Scope,
  view: DomainView,
): Promise<Domain[]> {
  const { rows } = await db.query<DomainRow>(
    `${SELECT_DOMAIN} where d.account_id = $3 and ($4::integer[] is null or d.id = any ($4)) order by d.custom_domain`,
    [utcMonth(view.nowMs), new Date(view.nowMs), account, domains],
  )
  return rows.map((row) => toDomain(row, view))
}

/** Returns null if the domain is unknown, another account's, or not within the scope. */
export async function findDomain(
  db: Queryable,
  { account, domains }: Scope,
  name: DomainName,
  view: DomainView,
): Promise<DomainWithSettings | null> {
  const { rows } = await db.query<DomainRow>(
    `${SELECT_DOMAIN} where d.account_id = $3 and d.custom_domain = $4 and ($5::integer[] is null or d.id = any ($5))`,
    [utcMonth(view.nowMs), new Date(view.nowMs), account, name, domains],
  )
  const row = rows[0]
  if (row === undefined) return null
  const { settings, indexnow_key } = row
  return { ...toDomain(row, view), indexnow_key, settings: readDomainSettings(settings) }
}

/** Lists the domains of all accounts. For operators only. */
export async function listAllDomains(
  db: Queryable,
  view: DomainView,
): Promise<(Domain & { email: string })[]> {
  const { rows } = await db.query<DomainRow>(`${SELECT_DOMAIN} order by d.custom_domain`, [
    utcMonth(view.nowMs),
    new Date(view.nowMs),
  ])
  return rows.map((row) => ({ ...toDomain(row, view), email: row.email }))
}

/** Returns null if the domain is unknown, another account's, or not within the scope. */
export async function findOwnedDomain(
  db: Queryable,
  { account, domains }: Scope,
  name: DomainName,
): Promise<OwnedDomain | null> {
  const { rows } = await db.query<OwnedRow>({
    name: 'owned-domain',
    text: `select d.id, d.custom_domain, d.is_active, d.origin_url, d.settings, d.indexnow_key, ${IS_SERVED} as is_served
             from domain d
            where d.account_id = $1 and d.custom_domain = $2 and ($3::integer[] is null or d.id = any ($3))`,
    values: [account, name, domains],
  })
  const row = rows[0]
  return row === undefined ? null : toOwnedDomain(row)
}

/** Lists domains by id, the order in which their rows are locked. */
export async function listOwnedDomains(db: Queryable, { account, domains }: Scope): Promise<OwnedDomain[]> {
  const { rows } = await db.query<OwnedRow>(
    `select d.id, d.custom_domain, d.is_active, d.origin_url, d.settings, d.indexnow_key, ${IS_SERVED} as is_served
       from domain d
      where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2)) order by d.id`,
    [account, domains],
  )
  return rows.map(toOwnedDomain)
}

type OwnedRow = {
  id: DomainId
  custom_domain: DomainName
  is_active: boolean
  origin_url: string
  settings: unknown
  indexnow_key: string | null
  is_served: boolean
}

function toOwnedDomain(row: OwnedRow): OwnedDomain {
  return {
    id: row.id,
    name: row.custom_domain,
    isActive: row.is_active,
    isServed: row.is_served,
    originUrl: row.origin_url,
    settings: readDomainSettings(row.settings),
    indexnowKey: row.indexnow_key,
  }
}

type DomainRow = Omit<OwnedRow, 'is_served'> & {
  ssl_enabled: boolean
  created_at: Date
  updated_at: Date
  email: string
  plan: string
  renders: number
}

const SELECT_DOMAIN = `
  select d.id, d.custom_domain, d.origin_url, d.is_active, d.indexnow_key,
         d.settings || coalesce((select jsonb_build_object('origin_headers', shown) from origin_header o
                                  where o.domain_id = d.id), '{}') as settings, d.created_at, d.updated_at,
         a.email, a.plan, coalesce(c.renders, 0) as renders,
         exists (select from certificate t
                  where t.domain_id = d.id and $2 < t.not_after) as ssl_enabled
  from domain d
  join account a on a.id = d.account_id
  left join render_count c on c.domain_id = d.id and c.month = $1`

function toDomain(row: DomainRow, view: DomainView): Domain {
  return {
    id: row.id,
    custom_domain: row.custom_domain,
    origin_url: row.origin_url,
    ssl_enabled: row.ssl_enabled,
    renders_used: row.renders,
    monthly_render_limit: planNamed(view.plans, row.plan).monthly_render_limit,
    is_active: row.is_active,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

/** Tells whether any account has the name. Reveals nothing new, as registering the name would show the same. */
export async function isTaken(db: Queryable, name: DomainName): Promise<boolean> {
  const { rowCount } = await db.query('select from domain where custom_domain = $1', [name])
  return rowCount !== 0
}

/** A domain as the edge is given it; its secrets are sealed. */
export type HostedDomain = {
  id: DomainId
  account_id: AccountId
  custom_domain: DomainName
  origin_url: string
  is_active: boolean
  settings: unknown
  certificate_ends_at: Date | null
  redirects: Redirect[] | null
  robots_text: string | null
  indexnow_key: string | null
  device_pages: ComparedPage[] | null
  sealed_headers: Buffer | null
}

/** `host` is in lower case, without a port. Returns null if no account has registered it, or if it is not served. */
export async function domainByHost(
  db: Queryable,
  host: string,
  openHeaders: OpenOriginHeaders,
): Promise<ServedDomain | null> {
  const { rows } = await db.query<HostedDomain>({
    name: 'domain-by-host',
    text: `select ${HOSTED_COLUMNS} ${HOSTED_TABLES} where d.custom_domain = $1`,
    values: [host],
  })
  return rows[0] === undefined ? null : servedDomain(rows[0], openHeaders)
}

/** The columns of a `HostedDomain`, from `HOSTED_TABLES`. */
export const HOSTED_COLUMNS = `d.id, d.account_id, d.custom_domain, d.origin_url, d.settings, d.indexnow_key,
                  d.is_active and a.suspended_at is null as is_active,
                  c.not_after as certificate_ends_at,
                  (select v.content from site_version v where v.domain_id = d.id and v.kind = 'redirects'
                    order by v.id desc limit 1) as redirects,
                  (select v.content->>'text' from site_version v where v.domain_id = d.id and v.kind = 'robots'
                    order by v.id desc limit 1) as robots_text,
                  ${DEVICE_PAGES} as device_pages,
                  (select key_sealed from origin_header o where o.domain_id = d.id) as sealed_headers`

export const HOSTED_TABLES = `from domain d join account a on a.id = d.account_id and ${IS_SERVED}
             left join certificate c on c.domain_id = d.id`

export function servedDomain(row: HostedDomain, openHeaders: OpenOriginHeaders): ServedDomain {
  return {
    id: row.id,
    account: row.account_id,
    name: row.custom_domain,
    originUrl: row.origin_url,
    originHeaders: openHeaders(row.id, row.sealed_headers, 'all'),
    isActive: row.is_active,
    settings: readDomainSettings(row.settings),
    certificateEndsAtMs: row.certificate_ends_at?.getTime() ?? null,
    redirects: row.redirects ?? [],
    robotsText: row.robots_text ?? '',
    indexNowKey: row.indexnow_key,
    comparedPages: row.device_pages ?? [],
  }
}
