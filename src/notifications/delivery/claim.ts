import type { Queryable } from '../../db/transaction.ts'
import type { EndpointFormat } from './endpoints.ts'

/** Longer than any attempt: then another node sends it. */
const LEASE_SECONDS = 60
const GATHER_MS = 60_000

/** A claimed row with what it takes to send it. Rows with one lease are one attempt. */
export type ClaimedRow = {
  id: string
  lease: string
  account_id: number
  endpoint_id: number | null
  recipient_id: number | null
  attempts: number
  age_ms: number
  seconds: number
  replay_of: string | null
  event_id: string
  type: string
  body: string
  plan: string
  url: string
  format: EndpointFormat
  is_active: boolean
  key_sealed: Buffer | null
}

/** For `slots` free places, accounts in turns after `afterAccount`. One array for each attempt, in the order of claiming. */
export async function claimDeliveries(
  db: Queryable,
  of: { slots: number; afterAccount: number; byMail: boolean; speed: number },
): Promise<ClaimedRow[][]> {
  const { rows: claimed } = await db.query<{ id: string }>({
    name: 'claim-deliveries',
    text: `select id from claim_deliveries($1, $2, $3, $4 * interval '1 millisecond', $5 * interval '1 second') id`,
    values: [of.slots, of.afterAccount, of.byMail, GATHER_MS / of.speed, LEASE_SECONDS],
  })
  if (claimed.length === 0) return []
  // Not in the statement that claims: its snapshot may be older than a row that the function finds.
  const { rows } = await db.query<ClaimedRow>({
    name: 'claimed-deliveries',
    text: `select d.id, d.lease, d.account_id, d.endpoint_id, d.recipient_id, d.attempts, d.replay_of, d.event_id,
                  extract(epoch from d.last_attempt_at - d.created_at)::float8 * 1000 as age_ms,
                  floor(extract(epoch from d.last_attempt_at))::float8 as seconds,
                  v.type, v.body, a.plan, e.url, e.format, e.is_active, e.key_sealed
             from unnest($1::bigint[]) with ordinality as c (id, place)
             join delivery d on d.id = c.id
             join event v on v.id = d.event_id
             join account a on a.id = d.account_id
             left join endpoint e on e.id = d.endpoint_id
            order by c.place`,
    values: [claimed.map(({ id }) => id)],
  })
  return [...Map.groupBy(rows, ({ lease }) => lease).values()]
}
