import type { listDnsAnswer } from '@prepaint/contract/api/dns.ts'
import type { AccountId, DomainId, DomainName, Scope } from '@prepaint/contract/ids.ts'
import type { TaskKind } from '@prepaint/postgres/tasks'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import type { z } from 'zod'
import type { Probes } from './checks.ts'
import type { DnsState } from './dns-state.ts'

type DnsLook = z.infer<typeof listDnsAnswer>['domains'][number]

const EVERY_MS = 20_000
const LEAST_PAUSE_MS = 1_000
const AT_ONCE = 16
/** Looks of a round, for which accounts take turns. The others are due again at the next, the oldest of an account first. */
const MOST = 200

// Watched for as long as a screen asks: it asks every 20 seconds. Inactive domains are looked at, too.
const DUE = `
  select id, account, name from (
    select d.id, d.account_id as account, d.custom_domain as name, l.checked_at,
           row_number() over (partition by d.account_id order by l.checked_at nulls first, d.id) as turn
      from domain d join account a on a.id = d.account_id left join dns_look l on l.domain_id = d.id
      where a.suspended_at is null
        and (l.checked_at is null or l.checked_at <= clock_timestamp() - interval '10 minutes'
             or (l.watched_at > clock_timestamp() - interval '1 minute' and l.state <> 'reaches-us'
                 and l.checked_at <= clock_timestamp() - interval '19 seconds' and coalesce(d.settings->>'way', 'dns') = 'dns'))) due
   order by turn, checked_at nulls first, id limit ${MOST}`

/** Looks where the names of all domains lead: one task for the fleet, so that no screen has to look for each of them. */
export class DnsLooks implements TaskKind {
  readonly name = 'dns-looks'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'names of domains could not be looked up; trying again'
  readonly subjects = `select 'all' as key, 0 as account_id, now() as due_at`
  readonly #pool: pg.Pool
  readonly #probes: Pick<Probes, 'checkDns'>

  constructor(pool: pg.Pool, probes: Pick<Probes, 'checkDns'>) {
    this.#pool = pool
    this.#probes = probes
  }

  async run(_task: unknown, signal: AbortSignal): Promise<number> {
    const startedSeconds = systemStopwatch()
    await lookAtDueNames(this.#pool, this.#probes, signal)
    const tookMs = (systemStopwatch() - startedSeconds) * 1_000
    return Math.max(LEAST_PAUSE_MS, EVERY_MS - tookMs)
  }

  retryMs(): number {
    return EVERY_MS
  }
}

type Due = { id: DomainId; account: AccountId; name: DomainName }

/** One round: the names that were not looked at for ten minutes, or that somebody waits for. */
export async function lookAtDueNames(
  pool: Queryable,
  probes: Pick<Probes, 'checkDns'>,
  signal?: AbortSignal,
): Promise<void> {
  const { rows } = await pool.query<Due>(DUE)
  await lookAtNames(pool, probes, rows, signal)
}

/** Looks now, at most 16 names at once. */
export async function lookAtNames(
  pool: Queryable,
  probes: Pick<Probes, 'checkDns'>,
  names: readonly Due[],
  signal?: AbortSignal,
): Promise<void> {
  const due = [...names]
  const work = async () => {
    for (let next = due.shift(); next !== undefined && signal?.aborted !== true; next = due.shift()) {
      const found = await probes.checkDns(next.account, next.name)
      if (found !== null) await noteDns(pool, next.id, found)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

/** Writes what was found. A domain that was deleted meanwhile gets no row. */
export async function noteDns(db: Queryable, domain: DomainId, found: DnsState): Promise<void> {
  await db.query({
    name: 'dns-note',
    text: `insert into dns_look as l (domain_id, state, addresses, checked_at)
           select id, $2, $3, clock_timestamp() from domain where id = $1
           on conflict (domain_id) do update
              set state = excluded.state, addresses = excluded.addresses, checked_at = excluded.checked_at`,
    values: [domain, found.state, found.records],
  })
}

/** The nodes look more often at names to set up while this is called. Writes at most every 15 seconds. */
export async function watchDns(db: Queryable, { account, domains }: Scope): Promise<void> {
  await db.query(
    `update dns_look l set watched_at = clock_timestamp() from domain d
      where d.id = l.domain_id and d.account_id = $1 and ($2::integer[] is null or d.id = any ($2))
        and l.state <> 'reaches-us' and l.watched_at < clock_timestamp() - interval '15 seconds'`,
    [account, domains],
  )
}

/** Reads what the nodes found, by name. Asks no name server. */
export async function listDns(db: Queryable, { account, domains }: Scope): Promise<DnsLook[]> {
  const { rows } = await db.query<Omit<DnsLook, 'checked_at'> & { checked_at: Date | null }>(
    `select d.custom_domain as domain, coalesce(l.state, 'not-checked') as state,
            coalesce(l.addresses, '{}') as addresses, l.checked_at
       from domain d left join dns_look l on l.domain_id = d.id
      where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2)) order by d.custom_domain`,
    [account, domains],
  )
  return rows.map((row) => ({ ...row, checked_at: row.checked_at?.toISOString() ?? null }))
}
