import { isDeepStrictEqual } from 'node:util'
import type { AuditAction } from '@prepaint/contract/audit-actions.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { deleteInSteps, type Steps } from '../remove-old.ts'
import { afterCommit, type Queryable } from '../transaction.ts'
import { type Acting, type AuditActor, whoActs } from './acting.ts'
import { AuditShares, type ShareUse } from './audit-shares.ts'

/** Changed fields as `{old, new}`, and what else is worth knowing. */
export type Details = Record<string, unknown>

export type Recorded = {
  account: AccountId
  action: AuditAction
  domain?: string | null
  /** What it was done to: an address, a name, a URL. */
  target?: string | null
  details?: Details
  /** Default: who acts now. */
  acting?: Acting
}

export type AuditEntry = {
  id: number
  at: string
  actor: AuditActor
  way: string | null
  address: string | null
  user_agent: string | null
  action: AuditAction
  domain: string | null
  target: string | null
  details: Details
  request_id: string | null
}

/** In place of a value that nobody may read. */
export const SECRET = '(secret)'

/** Writes an entry of the audit log. Call it in the transaction of what it records. */
export async function record(
  client: Queryable,
  { account, domain = null, ...what }: Recorded,
): Promise<void> {
  const subject = 'select $1::integer as account_id, $2::text as domain'
  const share = MANY.includes(what.action) || domain === null ? `${account}` : `${account} ${domain}`
  await recordEach(client, { ...what, share }, subject, [account, domain])
}

/**
 * What a client can do as often as it likes. Repeated by one actor from one address within a minute, it has one entry: otherwise an
 * account could fill the database with rows that nobody may delete.
 */
const OFTEN: readonly AuditAction[] = ['cache.purged', 'sign_in.succeeded', 'session.ended', 'audit.exported']

/** What a large account does to each of its domains, whose names are new each time. */
const MANY: readonly AuditAction[] = ['domain.added', 'domain.deleted']

/** Entries of one action in a day about one domain, person or account, at each node. `AuditShares` says what happens beyond it. */
export const DAILY_LIMIT = 200
const DAILY_LIMIT_OF_MANY = 10_000

const shares = new AuditShares(systemClock)

/** SQL: whether the last entries of the account of `s` have the same one. `$<at>` is the actor, the next two action and target. */
const isRepeated = (at: number) => `exists (
    select from (select * from audit_entry where account_id = s.account_id order by id desc limit 500) l
     where l.at > clock_timestamp() - interval '1 minute' and l.action = $${at + 1} and l.actor_kind = $${at}::jsonb->>'kind'
       and l.actor_name = $${at}::jsonb->>'name' and l.address is not distinct from $${at}::jsonb->>'address'
       and l.domain is not distinct from s.domain and l.target is not distinct from $${at + 2})`

/**
 * Writes one entry for each row of `subjects`, a statement that returns `account_id` and `domain` and may itself change rows: then
 * one statement makes the change and its entries. `share` names the account, domain or person whose share of the log they use.
 * Returns how many there were.
 */
export async function recordEach(
  db: Queryable,
  {
    action,
    target = null,
    details: given = {},
    acting = whoActs(),
    share,
  }: Omit<Recorded, 'account' | 'domain'> & { share: string },
  subjects: string,
  values: readonly unknown[],
): Promise<number> {
  // The operator of the installation may fill their own database.
  const isLimited = acting.actor.kind !== 'command_line'
  const use: ShareUse = {
    subject: `${action} ${share}`,
    most: MANY.includes(action) ? DAILY_LIMIT_OF_MANY : DAILY_LIMIT,
  }
  const leftOut = isLimited ? shares.leftOutBefore(use) : 0
  const details = fitDetails(leftOut === null || leftOut === 0 ? given : { ...given, left_out: leftOut })
  const at = values.length
  const { rows } = await db.query<{ id: string; at: Date; account: AccountId; domain: string | null }>(
    `with subject as (${subjects})
     select e.entry_id as id, e.entry_at as at, s.account_id as account, s.domain
       from subject s cross join lateral
         record_audit(s.account_id, $${at + 1}::jsonb, $${at + 2}::text, s.domain, $${at + 3}::text, $${at + 4}::jsonb) e
      ${whereWritten(action, { isLimited, isLeftOut: leftOut === null, at: at + 1 })}`,
    [...values, actorJson(acting), action, target, JSON.stringify(details)],
  )
  const isWritten = rows.length > 0
  if (isLimited && (isWritten || leftOut === null)) afterCommit(db, () => shares.count(use, { isWritten }))
  if (print === null) return rows.length
  const { actor, way, address, userAgent, requestId } = acting
  for (const row of rows) {
    const entry: AuditEntry = {
      id: Number(row.id),
      at: row.at.toISOString(),
      actor,
      way,
      address,
      user_agent: userAgent,
      action,
      domain: row.domain,
      target,
      details,
      request_id: requestId,
    }
    afterCommit(db, () => print?.(row.account, entry))
  }
  return rows.length
}

/** SQL that says which rows of `subjects` get an entry. */
function whereWritten(
  action: AuditAction,
  { isLimited, isLeftOut, at }: { isLimited: boolean; isLeftOut: boolean; at: number },
): string {
  if (isLeftOut) return 'where false'
  return isLimited && OFTEN.includes(action) ? `where not ${isRepeated(at)}` : ''
}

/** Who acts, as `record_audit` takes it. */
function actorJson({ actor, way, address, userAgent, requestId }: Acting): string {
  return JSON.stringify({ ...actor, way, address, user_agent: userAgent, request_id: requestId })
}

type Print = (account: AccountId, entry: AuditEntry) => void

let print: Print | null = null

/** From now on, this process also gives each entry to `printer` once it is committed. Null: no longer. */
export function printEntries(printer: Print | null): void {
  print = printer
}

const DETAILS_LIMIT_BYTES = 4_096
const TOO_LONG = '(too long)'

/** Replaces the longest values until the rest fits. */
export function fitDetails(details: Details): Details {
  const fitted: Details = { ...details }
  const sizeOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value) ?? '')
  const byLength = Object.keys(fitted).toSorted((one, other) => sizeOf(fitted[other]) - sizeOf(fitted[one]))
  for (const field of byLength) {
    if (sizeOf(fitted) <= DETAILS_LIMIT_BYTES) return fitted
    fitted[field] = TOO_LONG
  }
  return sizeOf(fitted) <= DETAILS_LIMIT_BYTES ? fitted : { fields: Object.keys(details).length }
}

/** Returns the fields that differ, as `{old, new}`. A field that `after` lacks has not changed. */
export function changedFields(before: object, after: object): Details {
  const old = before as Details
  const changed: Details = {}
  for (const [field, value] of Object.entries(after)) {
    if (value === undefined || isDeepStrictEqual(old[field], value)) continue
    changed[field] = { old: old[field] ?? null, new: value }
  }
  return changed
}

export type AuditFilter = {
  from?: Date | undefined
  to?: Date | undefined
  /** Exact, or a group: `member.*`. */
  action?: string | undefined
  actor?: string | undefined
  domain?: string | undefined
}

type Row = Omit<AuditEntry, 'id' | 'at' | 'actor'> & {
  id: string
  at: Date
  actor_kind: AuditActor['kind']
  actor_id: number | null
  actor_name: string
}

/** Lists the entries of an account, newest first. `before`: with smaller ids only. */
export async function listEntries(
  db: Queryable,
  account: AccountId,
  { from, to, action, actor, domain }: AuditFilter,
  { limit, before = null }: { limit: number; before?: number | null },
): Promise<AuditEntry[]> {
  const group = action?.endsWith('.*') === true ? action.slice(0, -1) : null
  const { rows } = await db.query<Row>(
    `select id, at, actor_kind, actor_id, actor_name, way, address, user_agent, action, domain, target, details, request_id
       from audit_entry
      where account_id = $1 and ($2::bigint is null or id < $2)
        and ($3::timestamptz is null or at >= $3) and ($4::timestamptz is null or at < $4)
        and ($5::text is null or action = $5) and ($6::text is null or starts_with(action, $6))
        and ($7::text is null or actor_name = $7) and ($8::text is null or domain = $8)
      order by id desc limit $9`,
    [account, before, from, to, group === null ? action : null, group, actor, domain, limit],
  )
  return rows.map(toEntry)
}

function toEntry({ id, at, actor_kind: kind, actor_id, actor_name: name, ...row }: Row): AuditEntry {
  return { id: Number(id), at: at.toISOString(), actor: { kind, id: actor_id, name }, ...row }
}

const EXPORT_STEP = 500

/** Reads all entries that match, newest first, some at a time. */
export async function* allEntries(
  db: Queryable,
  account: AccountId,
  filter: AuditFilter,
): AsyncGenerator<AuditEntry[], void> {
  let before: number | null = null
  for (;;) {
    const entries: AuditEntry[] = await listEntries(db, account, filter, { limit: EXPORT_STEP, before })
    if (entries.length > 0) yield entries
    if (entries.length < EXPORT_STEP) return
    before = entries.at(-1)!.id
  }
}

/** Tells the trigger, and `removeOldEntries`, how long entries are kept. */
export async function setAuditDays(db: Queryable, days: number): Promise<void> {
  await db.query(
    'insert into audit_retention (days) values ($1) on conflict (is_only) do update set days = excluded.days',
    [days],
  )
}

export function removeOldEntries(pool: pg.Pool, steps?: Steps): Promise<number> {
  return deleteInSteps(
    pool,
    `with old as materialized (
       select id from audit_entry where at < now() - make_interval(days => (select days from audit_retention))
        order by at limit $1 for update skip locked)
     delete from audit_entry e using old where e.id = old.id`,
    [],
    steps,
  )
}
