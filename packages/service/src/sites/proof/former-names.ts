import { createHash } from 'node:crypto'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'

const REMEMBERED_DAYS = 400

/**
 * Remembers that the account had the name. Call it in the transaction that deletes or moves the domain, before. A name that
 * was never served, because its proof was missing, was never the account's.
 */
export async function rememberFormer(client: Queryable, account: AccountId, domain: DomainId): Promise<void> {
  await client.query(
    `insert into domain_former (name_hash, account_id, ended_at, addresses)
     select sha256(convert_to(d.custom_domain, 'UTF8')), d.account_id, clock_timestamp(),
            case when l.state = 'reaches-us' then l.addresses else '{}' end
       from domain d left join domain_proof p on p.domain_id = d.id left join dns_look l on l.domain_id = d.id
      where d.id = $1 and d.account_id = $2 and coalesce(p.served or p.deadline is not null, true)
     on conflict (name_hash, account_id) do update set ended_at = excluded.ended_at, addresses = excluded.addresses`,
    [domain, account],
  )
}

/** SQL: the accounts other than that of domain `d` that had its name in the last 400 days. */
export const FORMER_OTHERS = `select from domain_former f where f.name_hash = sha256(convert_to(d.custom_domain, 'UTF8'))
    and f.account_id is distinct from d.account_id and f.ended_at > clock_timestamp() - interval '${REMEMBERED_DAYS} days'`

/** Returns whether another account had the name of the domain in the last 400 days. */
export async function hadOthers(db: Queryable, domain: DomainId): Promise<boolean> {
  const { rowCount } = await db.query(`select from domain d where d.id = $1 and exists (${FORMER_OTHERS})`, [
    domain,
  ])
  return rowCount !== 0
}

/** Returns whether the name led here when an account had it. */
export async function didLeadHere(db: Queryable, name: DomainName): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from domain_former where name_hash = $1 and addresses <> '{}' limit 1`,
    [hashOf(name)],
  )
  return rowCount !== 0
}

/** Returns whether one of the addresses of a name is of this installation, as nodes found it at other names or at this one. */
export async function areOurs(
  db: Queryable,
  name: DomainName,
  addresses: readonly string[],
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from dns_look where state = 'reaches-us' and addresses && $2
     union all select from domain_former where name_hash = $1 and addresses && $2 limit 1`,
    [hashOf(name), addresses],
  )
  return rowCount !== 0
}

/** Lists accounts that had the name, the last first, for the operator. */
export async function formerAccounts(db: Queryable, name: DomainName): Promise<AccountId[]> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    `select account_id from domain_former where name_hash = $1 and account_id is not null
        and ended_at > clock_timestamp() - make_interval(days => $2) order by ended_at desc`,
    [hashOf(name), REMEMBERED_DAYS],
  )
  return rows.map(({ account_id: account }) => account)
}

export function removeOldFormers(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'domain_former', at: 'ended_at', keptDays: REMEMBERED_DAYS }, steps)
}

function hashOf(name: DomainName): Buffer {
  return createHash('sha256').update(name).digest()
}
