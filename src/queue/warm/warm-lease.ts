import type pg from 'pg'
import type { DomainId, DomainName } from '../../ids.ts'
import type { Site } from '../../sitemaps/site.ts'
import { readDomainSettings } from '../../sites/domain-settings.ts'

/** A run whose sitemaps a node reads, for as long as `lease` is its own. */
export type Reading = { domain: DomainId; run: string; lease: string; robots: string | null; site: Site }

type Row = {
  domain_id: DomainId
  run: string
  lease: string
  robots: string | null
  custom_domain: DomainName
  origin_url: string
  settings: unknown
}

/** The run that has waited longest of those that nobody reads; null: there is none. */
export async function takeReading(pool: pg.Pool, leaseMs: number): Promise<Reading | null> {
  const { rows } = await pool.query<Row>(
    `update warm w set lease = gen_random_uuid(),
            lease_until = clock_timestamp() + $1 * interval '1 millisecond'
       from domain d
      where d.id = w.domain_id and w.domain_id = (
        select domain_id from warm
         where state = 'reading' and paused_at is null
           and (lease_until is null or lease_until < clock_timestamp())
         order by moved_at limit 1 for update skip locked)
     returning w.domain_id, w.run, w.lease, w.robots, d.custom_domain, d.origin_url, d.settings`,
    [leaseMs],
  )
  const row = rows[0]
  if (row === undefined) return null
  const site = {
    id: row.domain_id,
    name: row.custom_domain,
    originUrl: row.origin_url,
    query: readDomainSettings(row.settings).query,
  }
  return { domain: row.domain_id, run: row.run, lease: row.lease, robots: row.robots, site }
}

/** Also puts the run behind those that wait. false: it is another's, paused or over. */
export async function renewReading(
  pool: pg.Pool,
  { domain, lease }: Reading,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update warm set lease_until = clock_timestamp() + $3 * interval '1 millisecond', moved_at = clock_timestamp()
      where domain_id = $1 and lease = $2 and state = 'reading' and paused_at is null`,
    [domain, lease, leaseMs],
  )
  return rowCount === 1
}

export async function releaseReading(pool: pg.Pool, { domain, lease }: Reading): Promise<void> {
  await pool.query('update warm set lease = null, lease_until = null where domain_id = $1 and lease = $2', [
    domain,
    lease,
  ])
}
