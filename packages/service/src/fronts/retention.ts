import { deleteInSteps, removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type pg from 'pg'

/** An ended token, or the key of a deleted account, is known for this time: its fronts get a refusal on which they open. */
const ENDED_TOKENS_KEPT_DAYS = 90

/** The owner sees figures of the last 24 hours, and checks have a token for a minute. */
const EVIDENCE_KEPT_HOURS = 48

const OLD_EVIDENCE = [
  `with old as materialized (
     select ctid from integration_visits where hour < now() - make_interval(hours => $2) limit $1 for update skip locked)
   delete from integration_visits v using old where v.ctid = old.ctid`,
  `with old as materialized (
     select ctid from integration_refusal where minute < now() - make_interval(hours => $2) limit $1 for update skip locked)
   delete from integration_refusal r using old where r.ctid = old.ctid`,
  `with old as materialized (
     select ctid from integration_check where expires_at < now() - make_interval(hours => $2) limit $1 for update skip locked)
   delete from integration_check c using old where c.ctid = old.ctid`,
]

/** Removes site tokens that ended long ago, and old figures of fronts. */
export async function removeOldFronts(pool: pg.Pool, steps: Steps = {}): Promise<number> {
  // Rows of a deleted account keep their hash without an owner, and nobody can revoke them: their 90 days begin here.
  await pool.query(
    'update site_token set ends_at = now() where account_id is null and (ends_at is null or ends_at > now())',
  )
  const tokens = { table: 'site_token', at: 'ends_at', keptDays: ENDED_TOKENS_KEPT_DAYS }
  const keys = { table: 'ended_api_key', at: 'ended_at', keptDays: ENDED_TOKENS_KEPT_DAYS }
  let removed = (await removeOld(pool, tokens, steps)) + (await removeOld(pool, keys, steps))
  for (const statement of OLD_EVIDENCE) {
    removed += await deleteInSteps(pool, statement, [EVIDENCE_KEPT_HOURS], steps)
  }
  return removed
}
