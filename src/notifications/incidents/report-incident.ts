import type { Queryable } from '../../db/transaction.ts'
import { type Evidence, KINDS } from '../kinds.ts'
import type { Facts } from './facts.ts'
import { newestOfPaths } from './rules.ts'
import type { Action } from './watch.ts'

/** Writes one action of an evaluation with its event. The caller has locked the domain's memory. */
export async function writeAction(
  client: Queryable,
  { domain }: Facts,
  action: Action,
  publicUrl: string | null,
): Promise<void> {
  if (action.do === 'resolve') {
    await client.query('select resolve_incident($1, $2)', [action.id, action.resolution])
    return
  }
  const { kind, finding, sinceMs } = action
  const { count, level = null, pages } = finding
  const shown = newestOfPaths(pages).slice(0, 3)
  const evidence: Evidence = {
    ...{ count, level, advice: KINDS[kind].advice },
    url: `${publicUrl ?? ''}/domains/${domain.name}${KINDS[kind].screen}`,
    pages: shown.map(({ atMs, path, outcome, detail }) => {
      return { path, outcome, detail, at: new Date(atMs).toISOString() }
    }),
    changes: await changesBefore(client, domain.id, sinceMs),
  }
  if (action.do === 'update') {
    await client.query(`update incident set summary = $2, evidence = $3 where id = $1 and state = 'open'`, [
      action.id,
      finding.summary,
      evidence,
    ])
    const key = `incident ${action.id} level ${level}`
    await client.query(`select record_incident($1, 'incident.updated', $2)`, [action.id, key])
    return
  }
  const { rows } = await client.query<{ id: number }>(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     select account_id, id, $2, $3, $4, $5 from domain where id = $1 and is_active
     on conflict (domain_id, kind) where state = 'open' do nothing returning id`,
    [domain.id, kind, new Date(sinceMs), finding.summary, evidence],
  )
  const id = rows[0]?.id
  if (id === undefined) return
  await client.query(`select record_incident($1, 'incident.opened', $2)`, [id, `incident ${id} opened`])
}

/** Of the 24 hours before the problem began, and since. */
async function changesBefore(
  client: Queryable,
  domain: number,
  sinceMs: number,
): Promise<Evidence['changes']> {
  const { rows } = await client.query<Evidence['changes'][number]>(
    `select what, iso_time(at) as at from (
       select 'deploy' as what, unnest(deploys) as at from freshness where domain_id = $1
       union all select 'settings', updated_at from domain where id = $1 and updated_at > created_at
       union all select 'certificate', stored_at from certificate where domain_id = $1
       union all select 'dns', lost_at from health where domain_id = $1) change
      where at > $2::timestamptz - interval '24 hours' order by at desc limit 10`,
    [domain, new Date(sinceMs)],
  )
  return rows
}
