import type { incidentQuery, incidentSchema, incidentsSchema } from '@prepaint/contract/api/notifications.ts'
import type { AccountId, DomainId, Scope } from '@prepaint/contract/ids.ts'
import { KINDS } from '@prepaint/contract/notifications/kinds.ts'
import { pageOf } from '@prepaint/contract/notifications/lists.ts'
import { record } from '@prepaint/postgres/audit'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { z } from 'zod'
import { type Changer, rightsNow } from '../../accounts/actor.ts'
import type { Facts } from './facts.ts'
import { newestOfPaths } from './rules.ts'
import type { Action } from './watch.ts'

/** Told when an incident was opened, changed or resolved: `{account, domain_id, data}`, with the data of its live event (`record_incident`). */
export const INCIDENT_CHANNEL = 'incident'

const KEPT_DAYS = 400

export type Incident = z.infer<typeof incidentSchema>
type Evidence = Incident['evidence']

/** Open first, newest first. `account` null: of all, for operators. `domains`: of these only; null: of all. */
export async function listIncidents(
  db: Queryable,
  { account, domains }: { account: AccountId | null; domains: readonly DomainId[] | null },
  { state, kind, limit, after }: Omit<z.infer<typeof incidentQuery>, 'domain'>,
): Promise<{ incidents: Incident[]; next: z.infer<typeof incidentsSchema>['next'] }> {
  // Comparing rows and ordering by all columns forces the index `incident_list`: nothing is sorted.
  const whose = account === null ? '0::integer' : 'i.account_id'
  const { rows: found } = await db.query<{ id: number }>(
    `select i.id::float8 as id from incident i
      where ($2::integer[] is null or i.domain_id = any ($2)) and ($3::text is null or i.state = $3)
        and ($6::text[] is null or i.kind = any ($6))
        and i.opened_at > now() - make_interval(days => ${KEPT_DAYS}) and ${whose} >= $1
        and (${whose}, i.state = 'open', i.id)
            < ($1, coalesce((select state = 'open' from incident where id = $5 and account_id = $1), true), coalesce($5, ${Number.MAX_SAFE_INTEGER}))
      order by ${whose} desc, (i.state = 'open') desc, i.id desc limit $4`,
    [account ?? 0, domains, state, limit + 1, after, kind],
  )
  const { page, next } = pageOf(found, limit)
  return {
    incidents: await readIncidents(
      db,
      account,
      page.map(({ id }) => id),
    ),
    next,
  }
}

/** Returns them in this order. Those that have been deleted meanwhile are left out. */
async function readIncidents(
  db: Queryable,
  account: AccountId | null,
  ids: readonly number[],
): Promise<Incident[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<{ incident: Incident }>(
    `select incident_json(i, d.custom_domain) as incident from incident i join domain d on d.id = i.domain_id
      where i.id = any ($1) and ($2::integer is null or i.account_id = $2)`,
    [ids, account],
  )
  const byId = new Map(rows.map(({ incident }) => [incident.id, incident]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** `by`: the e-mail address of a person, or the name of an API key. */
type Acknowledgement = { by: string; note: string | null }

/**
 * Notes who takes care of an incident, which ends its reminders; null: nobody, any more. The audit log records both. Returns null if
 * there is no such incident within the scope. Throws as `rightsNow`.
 */
export async function acknowledgeIncident(
  pool: pg.Pool,
  { account, domains }: Scope,
  id: number,
  acknowledged: Acknowledgement | null,
  by: Changer = null,
): Promise<Incident | null> {
  return transaction(pool, async (client) => {
    const now = await rightsNow(client, account, by, 'updateIncident')
    return writeAcknowledgement(client, { account, domains: by === null ? domains : now }, id, acknowledged)
  })
}

async function writeAcknowledgement(
  db: Queryable,
  { account, domains }: Scope,
  id: number,
  acknowledged: Acknowledgement | null,
): Promise<Incident | null> {
  const within = 'i.id = $3 and i.account_id = $1 and ($2::integer[] is null or i.domain_id = any ($2))'
  const values = [account, domains, id]
  const before = await readAcknowledgement(db, within, values)
  if (acknowledged === null) {
    await db.query(
      `delete from incident_acknowledged where incident_id in (select i.id from incident i where ${within})`,
      values,
    )
  } else {
    await db.query(
      `insert into incident_acknowledged (incident_id, acknowledged_by, note) select i.id, $4, $5 from incident i where ${within}
       on conflict (incident_id) do update
         set acknowledged_by = excluded.acknowledged_by, acknowledged_at = excluded.acknowledged_at, note = excluded.note`,
      [...values, acknowledged.by, acknowledged.note],
    )
  }
  const { rows } = await db.query<{ incident: Incident }>(
    `select incident_json(i, d.custom_domain) as incident, announce_incident(i, d.custom_domain)
       from incident i join domain d on d.id = i.domain_id where ${within}`,
    values,
  )
  const incident = rows[0]?.incident ?? null
  if (incident !== null) await recordAcknowledgement(db, account, incident, before)
  return incident
}

/** Locks the incident: two members who change it at once are recorded one after the other. */
async function readAcknowledgement(
  db: Queryable,
  within: string,
  values: readonly unknown[],
): Promise<Acknowledgement | null> {
  await db.query(`select from incident i where ${within} for no key update`, [...values])
  const { rows } = await db.query<Acknowledgement>(
    `select a.acknowledged_by as by, a.note from incident_acknowledged a join incident i on i.id = a.incident_id where ${within}`,
    [...values],
  )
  return rows[0] ?? null
}

/** Nothing is recorded if nobody took care of it, and nobody does now. */
async function recordAcknowledgement(
  db: Queryable,
  account: AccountId,
  { id, kind, domain, acknowledged }: Incident,
  before: Acknowledgement | null,
): Promise<void> {
  if (acknowledged !== null) {
    const details = { incident: id, note: acknowledged.note }
    await record(db, { account, action: 'incident.acknowledged', domain, target: kind, details })
  } else if (before !== null) {
    const details = { incident: id, acknowledged_by: before.by, note: before.note }
    await record(db, { account, action: 'incident.reopened', domain, target: kind, details })
  }
}

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
  const { advice, screen } = KINDS[kind]
  const { count, level = null, pages, summary } = finding
  const evidence: Evidence = {
    count,
    level,
    advice,
    url: `${publicUrl ?? ''}/domains/${domain.name}${screen}`,
    pages: newestOfPaths(pages)
      .slice(0, 3)
      .map(({ atMs, path, outcome, detail }) => ({
        path,
        outcome,
        detail,
        at: new Date(atMs).toISOString(),
      })),
    changes: await changesBefore(client, domain.id, sinceMs),
  }
  const { rows } = await client.query<{ id: number; event: string; key: string }>(
    `insert into incident as i (account_id, domain_id, kind, since, summary, evidence)
     select account_id, id, $2, $3, $4, $5 from domain where id = $1 and is_active
     on conflict (domain_id, kind) where state = 'open' do update set summary = excluded.summary, evidence = excluded.evidence
       where (excluded.evidence ->> 'level')::integer > (i.evidence ->> 'level')::integer
     returning id, case when xmax = 0 then 'incident.opened' else 'incident.updated' end as event,
               'incident ' || id || case when xmax = 0 then ' opened' else ' level ' || (evidence ->> 'level') end as key`,
    [domain.id, kind, new Date(sinceMs), summary, evidence],
  )
  for (const { id, event, key } of rows)
    await client.query('select record_incident($1, $2, $3)', [id, event, key])
}

/** Lists what changed in the 24 hours before the problem began, newest first. */
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
      where at > $2::timestamptz - interval '24 hours' and at <= $2 order by at desc limit 10`,
    [domain, new Date(sinceMs)],
  )
  return rows
}

export function removeOldIncidents(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'incident', at: 'opened_at', keptDays: KEPT_DAYS }, steps)
}
