import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import {
  type ComparedPage,
  type DeviceDifference,
  type DevicePage,
  Devices,
} from '@prepaint/contract/settings/devices.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { announceHost } from '@prepaint/postgres/announce.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** A column of compared pages, for a query on `domain d`. */
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

/** Lists compared pages by path, also those whose first comparison is under way. */
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

/** Describes the devices of a domain as the API gives them. */
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
