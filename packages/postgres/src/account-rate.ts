import type { AccountId } from '@prepaint/contract/ids.ts'
import type { Queryable } from './transaction.ts'

/** At most `most` uses in any `withinMs`; `what` is the limit's name in the table. */
type AccountRate = { what: string; most: number; withinMs: number }

// Waits for a locked row and sees its new values, so exactly `most` concurrent calls pass.
const TAKE = `
  insert into account_rate as r (account_id, what, moments) values ($1, $2, array[clock_timestamp()])
  on conflict (account_id, what) do update set
    moments = array(select at from unnest(r.moments) at where at > clock_timestamp() - $4 * interval '1 millisecond' order by at)
              || clock_timestamp()
    where (select count(*) from unnest(r.moments) at where at > clock_timestamp() - $4 * interval '1 millisecond') < $3`

/** Counts one use across all nodes. Returns null, or the seconds (at least 1) to wait if the limit is reached. */
export async function takeOfRate(
  db: Queryable,
  account: AccountId,
  { what, most, withinMs }: AccountRate,
): Promise<number | null> {
  const { rowCount } = await db.query({
    name: 'account-rate',
    text: TAKE,
    values: [account, what, most, withinMs],
  })
  if (rowCount === 1) return null
  const { rows } = await db.query<{ seconds: number | null }>(
    `select extract(epoch from min(at) + $3 * interval '1 millisecond' - clock_timestamp())::float8 as seconds
       from account_rate r, unnest(r.moments) at
      where r.account_id = $1 and r.what = $2 and at > clock_timestamp() - $3 * interval '1 millisecond'`,
    [account, what, withinMs],
  )
  return Math.max(1, Math.ceil(rows[0]?.seconds ?? 1))
}
