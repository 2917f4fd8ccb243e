import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { announceAccount, announceHost } from '@prepaint/postgres/announce.ts'
import { recordEach } from '@prepaint/postgres/audit'
import { askTask } from '@prepaint/postgres/tasks'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { FORMER_OTHERS, hadOthers } from './former-names.ts'
import { GRACE_MS, NOT_ASKED } from './judge-proof.ts'
import { askProofLetters } from './proof-letters.ts'
import { type ProvenDomain, writeProof } from './stored-proof.ts'

/** The kind of the task that looks for a domain's proof; its key is the id of the domain. */
export const PROOF_TASK = 'domain-proof'

/** Owners set the record up first. */
const FIRST_LOOK_MS = { former: 5_000, required: 600_000 }

/**
 * Asks for the proof of a new domain, which is not served until then. Call it in the transaction that adds the domain. Whether
 * a name that another account had leads here is found out afterwards: `DomainProofs.settle`.
 */
export async function askForProof(
  client: Queryable,
  domain: ProvenDomain,
  { mode, nowMs }: { mode: ProofMode; nowMs: number },
): Promise<void> {
  if (mode === 'off') return
  const isFormer = mode === 'takeover'
  if (isFormer && !(await hadOthers(client, domain.id))) return
  const reason = isFormer ? 'former' : 'required'
  await writeProof(client, domain, { ...NOT_ASKED, state: 'asked', served: false, reason, askedAtMs: nowMs })
  const { id: key, account: accountId } = domain
  await askTask(client, { kind: PROOF_TASK, key, accountId, afterMs: FIRST_LOOK_MS[reason] })
}

/** Domains that nobody was asked about, though a proof is required: those of before, and of nodes of before. */
const UNASKED = `
  select d.id, d.account_id, d.custom_domain,
         exists (select from integration_way w where w.domain_id = d.id and w.way = 'proxy' and w.last_at > $1)
         or (not exists (select from integration_way w where w.domain_id = d.id and w.way = 'middleware')
             and (exists (select from traffic_folded_day f where f.domain_id = d.id and f.day >= ($1::timestamptz at time zone 'UTC')::date)
                  or exists (select from traffic_minute m where m.domain_id = d.id and m.minute > $1))) as is_live
    from domain d left join domain_proof p on p.domain_id = d.id
   where coalesce(p.state, 'not-asked') = 'not-asked'`

const REPLACED = `
  on conflict (domain_id) do update set state = excluded.state, served = true, reason = excluded.reason,
     method = excluded.method, asked_at = excluded.asked_at, deadline = excluded.deadline, error = null, missed_at = null
   where domain_proof.state = 'not-asked'`

type AskedDomain = { id: DomainId; account: AccountId; name: DomainName }

const LIVE_WITHIN_MS = 30 * 86_400_000

/**
 * Brings existing domains in line with the mode. Required: those with live requests in the last 30 days are proven by that;
 * the others are asked, and served for 30 days (divided by `speed`). Otherwise those that were asked for that reason are asked
 * no longer, unless `takeover` asks them, too. Owners of domains that are asked from now on get one letter for all of an account.
 */
export async function applyProofMode(
  pool: pg.Pool,
  { mode, nowMs, speed }: { mode: ProofMode; nowMs: number; speed: number },
): Promise<void> {
  const deadlineMs = nowMs + GRACE_MS / speed
  await retriedTransaction(pool, async (client) => {
    if (mode !== 'required') {
      if (mode === 'takeover') await keepAskingFormer(client)
      await stopAsking(client, mode === 'off' ? ['former', 'takeover', 'required'] : ['required'])
      return
    }
    const since = new Date(nowMs - LIVE_WITHIN_MS)
    await recordEach(
      client,
      { action: 'domain.proven', details: { method: 'traffic' }, share: 'all accounts' },
      `insert into domain_proof (domain_id, account_id, state, served, method)
       select id, account_id, 'proven', true, 'traffic' from (${UNASKED}) u where is_live order by id ${REPLACED}
       returning account_id, (select custom_domain from domain d where d.id = domain_id) as domain`,
      [since],
    )
    const { rows } = await client.query<AskedDomain>(
      `insert into domain_proof (domain_id, account_id, state, served, reason, asked_at, deadline)
       select id, account_id, 'asked', true, 'required', $2, $3 from (${UNASKED}) u where not is_live order by id ${REPLACED}
       returning domain_id as id, account_id as account, (select custom_domain from domain d where d.id = domain_id) as name`,
      [since, new Date(nowMs), new Date(deadlineMs)],
    )
    for (const { id: key, account: accountId } of rows) {
      await askTask(client, { kind: PROOF_TASK, key, accountId, afterMs: FIRST_LOOK_MS.required / speed })
    }
    for (const [account, domains] of Map.groupBy(rows, (domain) => domain.account)) {
      const names = domains.map(({ name }) => name)
      const about = `asked ${account} ${deadlineMs}`
      await askProofLetters(client, { account, about }, { what: 'asked', domains: names, deadlineMs })
    }
  })
}

/** A new domain whose name another account had is asked in this mode, too, until it is found that the name leads elsewhere. */
async function keepAskingFormer(client: Queryable): Promise<void> {
  await client.query(
    `update domain_proof p set reason = 'former' from domain d
      where d.id = p.domain_id and p.state = 'asked' and p.reason = 'required' and p.deadline is null
        and exists (${FORMER_OTHERS})`,
  )
}

async function stopAsking(client: Queryable, reasons: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ account: AccountId; name: DomainName; served: boolean }>(
    `with asked as (
       select domain_id, served from domain_proof where state = 'asked' and reason = any ($1) order by domain_id for update)
     update domain_proof p set state = 'not-asked', served = true, reason = null, deadline = null, error = null
       from asked join domain d on d.id = asked.domain_id where p.domain_id = asked.domain_id
     returning d.account_id as account, d.custom_domain as name, asked.served`,
    [reasons],
  )
  for (const { name, served } of rows) if (!served) await announceHost(client, name)
  for (const account of new Set(rows.map((row) => row.account))) await announceAccount(client, account)
}
