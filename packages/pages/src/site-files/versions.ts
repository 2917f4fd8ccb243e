import type { VERSION_KINDS } from '@prepaint/contract/api/site-files.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

type VersionKind = (typeof VERSION_KINDS)[number]

export type Version = {
  id: number
  kind: VersionKind
  created_at: string
  /** An e-mail address, `key <name>` or `command line`. */
  author: string
}

export type VersionWithContent = Version & { content: unknown }

const VERSIONS_KEPT = 20

type Row = { id: number; kind: VersionKind; author: string; created_at: Date; content: unknown }

/** Returns the newest content of a kind, or null if it was never changed. */
export async function newestContent(db: Queryable, domain: DomainId, kind: VersionKind): Promise<unknown> {
  const { rows } = await db.query<{ content: unknown }>(
    'select content from site_version where domain_id = $1 and kind = $2 order by id desc limit 1',
    [domain, kind],
  )
  return rows[0]?.content ?? null
}

/**
 * Adds a version unless it equals the newest, and drops the oldest ones. Call in the transaction of the change, with
 * the domain's row locked. `before`: what was in force if there is no version yet. Returns whether there is a new version.
 */
export async function addVersion(
  client: Queryable,
  domain: DomainId,
  { kind, content, author, before }: { kind: VersionKind; content: unknown; author: string; before: unknown },
): Promise<boolean> {
  const text = JSON.stringify(content)
  const newest = await newestContent(client, domain, kind)
  if (JSON.stringify(newest ?? before) === text) return false
  await client.query(
    `with added as (
       insert into site_version (domain_id, kind, content, author) values ($1, $2, $3, $4)
     )
     delete from site_version where id in (
       select id from site_version where domain_id = $1 and kind = $2 order by id desc offset ${VERSIONS_KEPT - 1})`,
    [domain, kind, text, author],
  )
  return true
}

/** Lists versions, newest first. The caller has found `domain` through its account. */
export async function listVersions(db: Queryable, domain: DomainId, kind: VersionKind): Promise<Version[]> {
  const { rows } = await db.query<Row>(
    `select id, kind, author, created_at from site_version where domain_id = $1 and kind = $2 order by id desc`,
    [domain, kind],
  )
  return rows.map(versionOf)
}

/** Throws `version_not_found`, also for a version of another domain, and for one that is no longer kept. */
export async function readVersion(db: Queryable, domain: DomainId, id: number): Promise<VersionWithContent> {
  const { rows } = await db.query<Row>(
    'select id, kind, author, created_at, content from site_version where domain_id = $1 and id = $2',
    [domain, id],
  )
  if (rows[0] === undefined) throw new AppError('version_not_found')
  return { ...versionOf(rows[0]), content: rows[0].content }
}

function versionOf({ id, kind, author, created_at }: Row): Version {
  return { id, kind, created_at: created_at.toISOString(), author }
}
