import type { AuditAction } from '@prepaint/contract/audit-actions.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, PersonId } from '@prepaint/contract/ids.ts'
import type { Role } from '@prepaint/contract/roles.ts'
import { type Details, recordEach } from '@prepaint/postgres/audit'
import { type Acting, asPerson, whoActs } from '@prepaint/postgres/audit/acting.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { createSecret, hashSecret, isSecret } from '../secrets.ts'

/** How a session began. `sso`: by the provider of the installation. */
export type Way = 'password' | 'passkey' | 'sso'

export type Session = {
  id: number
  person: PersonId
  /** Of the person. */
  email: string
  name: string | null
  locale: string | null
  isOperator: boolean
  way: Way
  /** When the person last proved who it is, at the sign-in or after. */
  confirmedAtMs: number
  /** What the person has set up besides a password. */
  factors: Factors
  /** The account that the request is about, or why there is none. */
  entry: Entry | EntryRefusal
}

/** `totp`: codes of an authenticator app. */
export type Factors = { totp: boolean; passkey: boolean }

/** SQL of the factors of person `p`. */
export const HAS_TOTP = `exists (select from second_factor f where f.person_id = p.id and f.confirmed_at is not null)`
export const HAS_PASSKEY = `exists (select from passkey k where k.person_id = p.id)`

/** The person as a member of one account. */
export type Entry = {
  member: number
  account: AccountId
  accountName: string
  plan: string
  role: Role
  /** Ids of the domains that the member is limited to; null: all. */
  domains: readonly DomainId[] | null
}

/**
 * `sign_in_required`: the member's sessions were ended in this account, or the session is too old for it, so the person must sign
 * in anew. `second_factor_required`: the account requires one, and the person has none.
 */
export type EntryRefusal =
  | 'account_not_found'
  | 'no_account'
  | 'sign_in_required'
  | 'account_suspended'
  | 'second_factor_required'

export type SessionClient = { address: string; userAgent: string }

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
export const IDLE_DAYS = 7
const SESSION_DAYS = 30
/** The provider is asked again after so long whether the person may still enter. */
const SSO_HOURS = 12
/** Sessions of a person. The oldest ends when one more begins. */
export const SESSION_LIMIT = 50

/** SQL for when a session ends that is used at `usedAt`. */
const expiry = (usedAt: string, createdAt: string, way: string) =>
  `least(${usedAt}::timestamptz + interval '${IDLE_DAYS} days', ${createdAt}::timestamptz
     + case when ${way} = 'sso' then interval '${SSO_HOURS} hours' else interval '${SESSION_DAYS} days' end)`

/** `passwordHash`: the session starts only if the person still has it. `account`: the one to enter; default: the first one. */
type SessionStart = {
  passwordHash?: string | null
  account?: AccountId | null
  way?: Way
  hasSecondFactor?: boolean
  /** When the person proved who it is, if not now. */
  provedAtMs?: number | null
}

/**
 * `token` goes into the cookie; only its hash is stored. Chooses an account, by default the first that can be entered. The
 * oldest session ends if the person has too many. Returns null if the person is gone, if its password has changed, or if all its accounts are suspended. Locks the person, so a
 * concurrent password change ends the session.
 */
export async function startSession(
  pool: pg.Pool,
  person: PersonId,
  { address, userAgent }: SessionClient,
  nowMs: number,
  {
    passwordHash = null,
    account = null,
    way = 'password',
    hasSecondFactor = false,
    provedAtMs = null,
  }: SessionStart = {},
): Promise<{ session: Session; token: string } | null> {
  const { raw, hash } = createSecret('pp_se_')
  const { rowCount } = await pool.query(
    `with owner as (
       select id from person p where id = $1 and ($6::text is null or password_hash = $6) and ${MAY_SIGN_IN} for share
     )
     insert into session (person_id, account_id, token_hash, address, user_agent, created_at, used_at, expires_at, way, second_factor,
                          confirmed_at)
     select id, coalesce($7::integer, (
              select m.account_id from member m join account a on a.id = m.account_id
               where m.person_id = owner.id and a.suspended_at is null order by m.id limit 1)),
            $2, $3, $4, $5, $5, ${expiry('$5', '$5', '$8')}, $8, $9, $10 from owner`,
    [
      person,
      hash,
      address,
      userAgent,
      new Date(nowMs),
      passwordHash,
      account,
      way,
      hasSecondFactor,
      confirmedAtOf(provedAtMs, nowMs), // $10
    ],
  )
  if (rowCount === 0) return null
  await endOldest(pool, person)
  const taken = await takeSession(pool, raw, nowMs)
  return taken === null ? null : { session: taken.session, token: raw }
}

/** Null: the time of the sign-in counts. */
function confirmedAtOf(provedAtMs: number | null, nowMs: number): Date | null {
  return provedAtMs === null ? null : new Date(Math.min(provedAtMs, nowMs))
}

/** Ends what is beyond the limit. */
async function endOldest(pool: pg.Pool, person: PersonId): Promise<void> {
  await transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `delete from session where person_id = $1
          and id in (select id from session where person_id = $1 order by id desc offset $2)`,
      [person, SESSION_LIMIT],
    )
    const sessions = rowCount ?? 0
    if (sessions === 0) return
    const details = { sessions, reason: `more than ${SESSION_LIMIT}` }
    await recordOfPerson(client, person, { action: 'session.ended', details })
  })
}

/** Ends the sessions of members of a suspended account who have no other account to go on with. Call in its transaction. */
export async function endSessionsOfSuspended(client: Queryable, account: AccountId): Promise<void> {
  const { rows } = await client.query<{ person: PersonId; sessions: number }>(
    `with ended as (
       delete from session s using member m, person p
        where m.account_id = $1 and s.person_id = m.person_id and p.id = m.person_id and not p.is_operator
          and not exists (select from member o join account a on a.id = o.account_id
                           where o.person_id = m.person_id and a.suspended_at is null)
       returning s.person_id)
     select person_id as person, count(*)::int as sessions from ended group by person_id order by person_id`,
    [account],
  )
  for (const { person, sessions } of rows) {
    const details = { sessions, reason: 'suspended' }
    await recordOfPerson(client, person, { action: 'session.ended', details })
  }
}

/** A condition on person `p`: a person whose accounts are all suspended is refused, unless it is an operator. */
export const MAY_SIGN_IN = `(p.is_operator or not exists (select from member m where m.person_id = p.id)
  or exists (select from member m join account a on a.id = m.account_id where m.person_id = p.id and a.suspended_at is null))`

/** Tells whether all accounts of the person are suspended. */
export async function isSuspended(db: Queryable, person: PersonId): Promise<boolean> {
  const { rowCount } = await db.query(`select from person p where p.id = $1 and not ${MAY_SIGN_IN}`, [person])
  return rowCount !== 0
}

type SessionRow = {
  id: number
  person: PersonId
  email: string
  name: string | null
  locale: string | null
  isOperator: boolean
  used_at: Date
  address: string
  user_agent: string
  way: Way
  entered: AccountId[]
  isRefused: boolean
  isInSome: boolean
  member: number | null
  account: AccountId
  accountName: string
  plan: string
  role: Role
  domains: DomainId[] | null
  suspended: boolean
  ended: boolean
  lacksFactor: boolean
  last_seen_at: Date | null
  confirmed_at: Date
  hasTotp: boolean
  hasPasskey: boolean
}

/** SQL: a session `s` that cannot enter account `a` as member `m` any more. `now` is a parameter. */
const hasEnded = (now: string) => `(coalesce(s.created_at <= m.sessions_ended_at, false)
    or coalesce(s.created_at <= ${now}::timestamptz - make_interval(hours => a.session_hours), false))`

/** SQL: account `a` asks person `p` for a second factor that it lacks. The provider of single sign-on is the place for it. */
const LACKS_FACTOR = `(a.second_factor_required and s.way <> 'sso' and not ${HAS_TOTP} and not ${HAS_PASSKEY})`

/**
 * SQL: each account that the person of session `s` is in, and whether the session may enter it: neither `suspended`, `ended` nor
 * `lacksFactor`. `now` is a parameter.
 */
export const entriesAt = (now: string) => `
      select m.id as member, m.account_id as account, coalesce(a.name, a.email) as "accountName", a.plan, m.role, m.domains,
             m.last_seen_at, a.suspended_at is not null as suspended, ${hasEnded(now)} as ended, ${LACKS_FACTOR} as "lacksFactor"
        from member m join account a on a.id = m.account_id join person p on p.id = m.person_id
       where m.person_id = s.person_id`

/**
 * Of the accounts of the person, the one with `$3`; without it the one that was chosen last; if none was chosen or `$4` is true,
 * another that can be entered.
 */
const READ_SESSION = `
  select s.id, s.used_at, s.address, s.user_agent, s.way, s.entered, coalesce(s.confirmed_at, s.created_at) as confirmed_at,
         ${HAS_TOTP} as "hasTotp", ${HAS_PASSKEY} as "hasPasskey",
         p.id as person, p.email, p.name, p.locale, p.is_operator as "isOperator",
         not ${MAY_SIGN_IN} as "isRefused", exists (select from member m where m.person_id = p.id) as "isInSome", e.*
    from session s join person p on p.id = s.person_id
    left join lateral (${entriesAt('$2')}
         and case when $3::integer is not null then m.account_id = $3 else $4 or s.account_id is null or m.account_id = s.account_id end
       order by ended, suspended, "lacksFactor", m.account_id is not distinct from s.account_id desc, m.id
       limit 1) e on true
   where s.token_hash = $1 and s.expires_at > $2`

/** `account`: the one that a request names. `orAnother`: without it, another one if the last chosen one cannot be entered. */
type AskedEntry = { account?: AccountId | null; orAnother?: boolean }

/**
 * Runs for every request, so ended sessions are refused at once on every node. Extends the idle time once a day, which
 * `renewed` tells. A request that names no account is about the last chosen one. Returns null if the session is
 * unknown or ended. Throws `account_suspended` if all accounts of the person are suspended.
 */
export async function takeSession(
  db: Queryable,
  token: string,
  nowMs: number,
  { account = null, orAnother = false }: AskedEntry = {},
): Promise<{ session: Session; renewed: boolean } | null> {
  if (!isSecret('pp_se_', token)) return null
  const now = new Date(nowMs)
  const { rows } = await db.query<SessionRow>({
    name: 'read-session',
    text: READ_SESSION,
    values: [hashSecret(token), now, account, orAnother],
  })
  const row = rows[0]
  if (row === undefined) return null
  if (row.isRefused) throw new AppError('account_suspended')
  const renewed = nowMs - row.used_at.getTime() >= DAY_MS
  if (renewed) {
    await db.query(
      `update session set used_at = $2, expires_at = ${expiry('$2', 'created_at', 'way')} where id = $1`,
      [row.id, now],
    )
  }
  const session = sessionOf(row, account)
  if (typeof session.entry !== 'string' && nowMs - (row.last_seen_at?.getTime() ?? 0) >= HOUR_MS) {
    const { entry } = session
    await db.query('update member set last_seen_at = $3 where account_id = $1 and id = $2', [
      entry.account,
      entry.member,
      now,
    ])
  }
  await recordEntry(db, session, row)
  return { session, renewed }
}

/** Records the first request of a session in an account. Two at once record one entry. */
async function recordEntry(
  db: Queryable,
  { id, person, email, entry }: Session,
  row: SessionRow,
): Promise<void> {
  if (typeof entry === 'string' || row.entered.includes(entry.account)) return
  const acting: Acting = {
    actor: { kind: 'person', id: person, name: email },
    way: row.way,
    address: row.address,
    userAgent: row.user_agent,
    requestId: null,
  }
  await recordEach(
    db,
    { action: 'sign_in.succeeded', acting, share: `${entry.account} ${person}` },
    `update session set entered = array_append(entered, $2::integer) where id = $1 and not $2 = any (entered)
     returning $2 as account_id, null::text as domain`,
    [id, entry.account],
  )
}

function sessionOf(row: SessionRow, named: AccountId | null): Session {
  const { id, person, email, name, locale, isOperator, way, hasTotp, hasPasskey } = row
  return {
    id,
    person,
    email,
    name,
    locale,
    isOperator,
    way,
    confirmedAtMs: row.confirmed_at.getTime(),
    factors: { totp: hasTotp, passkey: hasPasskey },
    entry: entryOf(row, named),
  }
}

function entryOf(row: SessionRow, named: AccountId | null): Entry | EntryRefusal {
  const { member, account, accountName, plan, role, domains } = row
  if (member === null) return named === null && !row.isInSome ? 'no_account' : 'account_not_found'
  if (row.ended) return 'sign_in_required'
  if (row.suspended) return 'account_suspended'
  if (row.lacksFactor) return 'second_factor_required'
  return { member, account, accountName, plan, role, domains }
}

/** Returns the person of a session as a member of an account, or why the session cannot enter it. */
export async function readEntry(
  db: Queryable,
  { id }: Session,
  account: AccountId,
  nowMs: number,
): Promise<Entry | EntryRefusal> {
  const { rows } = await db.query<Entry & { suspended: boolean; ended: boolean; lacksFactor: boolean }>(
    `select e.* from session s cross join lateral (${entriesAt('$3')} and m.account_id = $2) e where s.id = $1`,
    [id, account, new Date(nowMs)],
  )
  const row = rows[0]
  if (row === undefined) return 'account_not_found'
  if (row.ended) return 'sign_in_required'
  if (row.suspended) return 'account_suspended'
  if (row.lacksFactor) return 'second_factor_required'
  const { member, accountName, plan, role, domains } = row
  return { member, account: row.account, accountName, plan, role, domains }
}

/** Chooses the account of the session's later requests. Returns false if the person is not in it. */
export async function chooseAccount(
  db: Queryable,
  { id, person }: Session,
  account: AccountId,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update session set account_id = $3 where id = $1 and person_id = $2
        and exists (select from member where person_id = $2 and account_id = $3)`,
    [id, person, account],
  )
  return rowCount !== 0
}

/** The person of the session has just proved who it is. */
export async function confirmSession(
  db: Queryable,
  { id, person }: Pick<Session, 'id' | 'person'>,
  nowMs: number,
): Promise<void> {
  await db.query('update session set confirmed_at = $3 where id = $1 and person_id = $2', [
    id,
    person,
    new Date(nowMs),
  ])
}

/** Ends all sessions of the person but this one. */
export async function endOtherSessions(
  db: Queryable,
  { person, id }: Pick<Session, 'person' | 'id'>,
): Promise<void> {
  await db.query('delete from session where person_id = $1 and id <> $2', [person, id])
}

/** Ends all other sessions after a password change, and returns a new token for this one. Call in the same transaction. */
export async function replaceSession(
  client: Queryable,
  { person, id }: Session,
  nowMs: number,
): Promise<string> {
  const { raw, hash } = createSecret('pp_se_')
  await endOtherSessions(client, { person, id })
  // Nodes of 0.2.0 know the session by its old token.
  await client.query(
    `with before as (select token_hash from session where id = $1),
          changed as (
            update session set token_hash = $2, used_at = $3, expires_at = ${expiry('$3', 'created_at', 'way')} where id = $1)
     delete from sign_in_session o using before b where o.token_hash = b.token_hash`,
    [id, hash, new Date(nowMs)],
  )
  return raw
}

type ListedSession = {
  id: number
  current: boolean
  created_at: string
  used_at: string
  address: string
  user_agent: string
  way: Way
  /** Whether the sign-in needed one. */
  second_factor: boolean
}

/** Lists active sessions of a person, the newest first. `current` is the id of the calling session, if one calls. */
export async function listSessions(
  db: Queryable,
  person: PersonId,
  current: number | null,
  nowMs: number,
): Promise<ListedSession[]> {
  const { rows } = await db.query<{
    id: number
    address: string
    user_agent: string
    created_at: Date
    used_at: Date
    way: Way
    second_factor: boolean
  }>(
    `select id, created_at, used_at, address, user_agent, way, second_factor from session
      where person_id = $1 and expires_at > $2 order by id desc`,
    [person, new Date(nowMs)],
  )
  return rows.map((row) => ({
    ...row,
    current: row.id === current,
    created_at: row.created_at.toISOString(),
    used_at: row.used_at.toISOString(),
  }))
}

/** Returns whether the person had such a session. */
export async function endSession(pool: pg.Pool, person: PersonId, id: number): Promise<boolean> {
  return transaction(pool, async (client) => {
    const { rowCount } = await client.query('delete from session where person_id = $1 and id = $2::bigint', [
      person,
      id,
    ])
    if (rowCount === 0) return false
    await recordOfPerson(client, person, { action: 'session.ended' })
    return true
  })
}

/** Ends all sessions of a person and returns how many there were. Call in a transaction. */
export async function endSessions(client: Queryable, person: PersonId): Promise<number> {
  const { rowCount } = await client.query('delete from session where person_id = $1', [person])
  const ended = rowCount ?? 0
  if (ended > 0)
    await recordOfPerson(client, person, { action: 'session.ended', details: { sessions: ended } })
  return ended
}

/** Ends all sessions that did not begin by single sign-on, when that has become the only way. Returns how many there were. */
export async function endSessionsOfOtherWays(pool: pg.Pool): Promise<number> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ person: PersonId }>(
      `delete from session where way <> 'sso' returning person_id as person`,
    )
    for (const person of new Set(rows.map(({ person }) => person))) {
      await recordOfPerson(client, person, { action: 'session.ended' })
    }
    return rows.length
  })
}

/**
 * Records what happened to a person's login in each account that the person is in. Names the person where another acts. `isActor`:
 * the person acts, in a request that has no session.
 */
export async function recordOfPerson(
  client: Queryable,
  person: PersonId,
  { isActor = false, ...what }: { action: AuditAction; details?: Details; isActor?: boolean },
): Promise<void> {
  const { rows } = await client.query<{ email: string }>('select email from person where id = $1', [person])
  const target = rows[0]?.email ?? null
  const acting = isActor && target !== null ? asPerson({ id: person, email: target }) : whoActs()
  const accounts = 'select account_id, null::text as domain from member where person_id = $1'
  await recordEach(client, { ...what, target, acting, share: `person ${person}` }, accounts, [person])
}
