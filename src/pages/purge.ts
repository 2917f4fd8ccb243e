import { letTakeLong } from '../db/long-statements.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
import { matchCondition, type PageMatch } from './page-match.ts'

/** `prefix`: the beginning of stored paths, spelt by `normalisePrefix`. */
export type PurgeWhat =
  | { kind: 'all' }
  | { kind: 'path'; path: PagePath }
  | { kind: 'paths'; paths: readonly PagePath[] }
  | { kind: 'matching'; match: PageMatch }
  | { kind: 'prefix'; prefix: string }

/**
 * Deletes stored pages of one domain, and with them always the whole sitemap
 * and redirect caches of that domain. Gives the number of entries deleted.
 *
 * `client` is inside a transaction (read committed): the caller decides when it
 * takes effect, and the NOTIFY that empties every node's memory goes out at the
 * same moment. The domain id was obtained through its account.
 *
 * Order matters. The running jobs come first: a job that completes at this
 * moment holds its row, so the first statement waits for it and the deletes
 * that follow see what it stored; a job that completes later finds itself
 * superseded and stores nothing.
 */
export async function purgePages(client: Queryable, domain: DomainId, what: PurgeWhat): Promise<number> {
  const { where, values } = condition(domain, what)
  const db = await letTakeLong(client)
  await db.query(`update job set superseded = true where state = 'running' and ${where}`, values)
  const deleted = [
    await db.query(`delete from page where ${where}`, values),
    await db.query('delete from redirect where domain_id = $1', [domain]),
    await db.query('delete from sitemap where domain_id = $1', [domain]),
  ]
  // What else is known of what these pages said, which nobody counts.
  await db.query(`delete from page_digest where ${where}`, values)
  await db.query(`delete from inspection where ${where}`, values)
  await db.query(`select pg_notify('invalidate', payload) from unnest($1::text[]) as payload`, [
    payloads(domain, what),
  ])
  return deleted.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
}

function condition(domain: DomainId, what: PurgeWhat): { where: string; values: unknown[] } {
  switch (what.kind) {
    case 'all':
      return { where: 'domain_id = $1', values: [domain] }
    case 'path':
      return { where: 'domain_id = $1 and path = $2', values: [domain, what.path] }
    case 'paths':
      // Everybody who locks many rows takes them in this order.
      return { where: 'domain_id = $1 and path = any($2)', values: [domain, [...what.paths].sort()] }
    case 'prefix':
      return { where: 'domain_id = $1 and starts_with(path, $2)', values: [domain, what.prefix] }
    case 'matching': {
      const values: unknown[] = [domain]
      const matching = matchCondition(what.match, 'path', (value) => `$${values.push(value)}`)
      return { where: `domain_id = $1 ${matching}`, values }
    }
  }
}

function payloads(domain: DomainId, what: PurgeWhat): string[] {
  switch (what.kind) {
    case 'all':
    // Nodes cannot search their memory for it: they read again what is asked for.
    case 'matching':
      return [JSON.stringify({ domain })]
    // `purged`: redirects and sitemaps of the whole domain are gone too.
    case 'path':
      return [JSON.stringify({ domain, path: what.path, purged: true })]
    case 'paths':
      return what.paths.map((path) => JSON.stringify({ domain, path, purged: true }))
    case 'prefix':
      return [JSON.stringify({ domain, prefix: what.prefix, purged: true })]
  }
}
