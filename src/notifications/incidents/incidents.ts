import type pg from 'pg'
import { removeOld, type Steps } from '../../db/remove-old.ts'
import type { Queryable } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { AccountId, DomainName } from '../../ids.ts'
import type { Incident } from '../kinds.ts'

/** Payload: the id of an incident that was opened, changed or resolved (`record_incident`, src/db/schema.sql). */
export const INCIDENT_CHANNEL = 'incident'

const KEPT_DAYS = 400

type IncidentQuery = {
  domain: DomainName | null
  state?: Incident['state'] | undefined
  limit: number
  /** The id of the last incident of the page before. */
  after?: number | undefined
}

/** Open first, newest first. `account` null: of all, for operators. Throws `domain_not_found`. */
export async function listIncidents(
  db: Queryable,
  account: AccountId | null,
  { domain, state, limit, after }: IncidentQuery,
): Promise<{ incidents: Incident[]; next: number | null }> {
  const { rows: found } = await db.query<{ id: number }>(
    'select id from domain where ($1::integer is null or account_id = $1) and custom_domain = $2',
    [account, domain],
  )
  if (domain !== null && found[0] === undefined) throw new AppError('domain_not_found')
  const { rows } = await db.query<{ incident: Incident }>(
    `select incident_json(i, d.custom_domain) as incident from incident i join domain d on d.id = i.domain_id
      where ($1::integer is null or i.account_id = $1) and ($2::integer is null or i.domain_id = $2)
        and ($3::text is null or i.state = $3) and i.opened_at > now() - make_interval(days => ${KEPT_DAYS})
        and ($5::bigint is null
             or (i.state = 'open', i.id) < (select o.state = 'open', o.id from incident o
                                             where o.id = $5 and ($1::integer is null or o.account_id = $1)))
      order by (i.state = 'open') desc, i.id desc limit $4`,
    [account, found[0]?.id ?? null, state, limit + 1, after],
  )
  const incidents = rows.slice(0, limit).map(({ incident }) => incident)
  return { incidents, next: rows.length > limit ? incidents.at(-1)!.id : null }
}

export function removeOldIncidents(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'incident', at: 'opened_at', keptDays: KEPT_DAYS }, steps)
}
