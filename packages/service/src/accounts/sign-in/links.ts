import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, PersonId } from '@prepaint/contract/ids.ts'
import type { Role } from '@prepaint/contract/roles.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { record } from '@prepaint/postgres/audit'
import { actAsPerson } from '@prepaint/postgres/audit/acting.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { addAccountOf, checkPlan } from '../accounts.ts'
import { emailOf, parseEmail } from '../email.ts'
import { addMember, checkMemberLimit, isMemberOf } from '../members.ts'
import {
  changeOperator,
  createPerson,
  findPersonOf,
  findUnproven,
  HAS_SSO,
  lockPerson,
  setOperator,
} from '../persons.ts'
import { createSecret, hashSecret } from '../secrets.ts'
import { hashNewPassword, setPasswordHash, wordsOf } from './passwords.ts'
import { proveAddress } from './proof.ts'
import { hasSecondFactor, readFactors } from './second-factor.ts'
import { MAY_SIGN_IN, recordOfPerson } from './sessions.ts'

/**
 * `first` creates the operator of a new installation; `invitation` an account; `member` joins an account; `reset` sets a new
 * password.
 */
type LinkKind = 'first' | 'invitation' | 'member' | 'reset'

/**
 * `isHandedOver`: an operator gets the link, and not the person by e-mail. `isByCommand`: the command line makes it, so it counts
 * also where single sign-on is the only way. Both are recorded.
 */
type NewLink =
  | { kind: 'first'; plan: string }
  | { kind: 'reset'; person: PersonId; isHandedOver?: boolean; isByCommand?: boolean }

export type CreatedLink = { token: string; expires_at: string }

/** The address that a person opens. The token is in the fragment, which is not sent to servers or logged. */
export function welcomeUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/welcome#${token}`
}

/** The user chooses an address if `email` is null. */
export type LinkView =
  | { kind: 'first' | 'invitation' | 'reset'; email: string | null; expires_at: string }
  | {
      kind: 'member'
      email: string
      account: { name: string }
      role: Role
      /** Absent if the invitation is not limited to named domains. */
      domains?: string[]
      invited_by: string
      expires_at: string
    }

const HOUR_MS = 3_600_000
const LIFE_MS = { first: 24 * HOUR_MS, reset: HOUR_MS } as const

const OPERATORS = `select from person p where p.is_operator and (p.password_hash is not null or ${HAS_SSO})`
/** The first link was shown in a terminal or log, so it ends once an operator can sign in. */
const IS_VALID = `(l.kind <> 'first' or not exists (${OPERATORS}))`

/** Creates a link that works once, and ends earlier links of its kind for the person. Throws `invalid_field`. */
export async function createLink(
  pool: pg.Pool,
  plans: PlanCatalogue,
  link: NewLink,
  nowMs: number,
): Promise<CreatedLink> {
  const plan = link.kind === 'first' ? link.plan : null
  if (plan !== null) checkPlan(plans, plan)
  const person = link.kind === 'reset' ? link.person : null
  return transaction(pool, async (client) => {
    await client.query('delete from link where kind = $1 and person_id is not distinct from $2', [
      link.kind,
      person,
    ])
    const isByCommand = link.kind === 'reset' && link.isByCommand === true
    if (link.kind === 'reset' && (isByCommand || link.isHandedOver === true)) {
      await recordOfPerson(client, link.person, { action: 'person.reset_link_created' })
    }
    const made = { kind: link.kind, plan, person, invitation: null, isHeld: false, isByCommand }
    return insertLink(client, made, nowMs + LIFE_MS[link.kind])
  })
}

/** Creates the link of an invitation; the one before ends. `isHeld`: a member who invites gets it, not the address. */
export async function linkToInvitation(
  client: Queryable,
  { kind, id, isHeld = false }: { kind: 'invitation' | 'member'; id: number; isHeld?: boolean },
  expiresAtMs: number,
): Promise<CreatedLink> {
  await client.query('delete from link where invitation_id = $1', [id])
  const made = { kind, plan: null, person: null, invitation: id, isHeld, isByCommand: false }
  return insertLink(client, made, expiresAtMs)
}

async function insertLink(
  client: Queryable,
  link: {
    kind: LinkKind
    plan: string | null
    person: PersonId | null
    invitation: number | null
    isHeld: boolean
    isByCommand: boolean
  },
  expiresAtMs: number,
): Promise<CreatedLink> {
  const secret = createSecret('pp_in_')
  const expiresAt = new Date(expiresAtMs)
  await client.query(
    `insert into link (token_hash, kind, plan, person_id, invitation_id, expires_at, is_held, is_by_command)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      secret.hash,
      link.kind,
      link.plan,
      link.person,
      link.invitation,
      expiresAt,
      link.isHeld,
      link.isByCommand,
    ],
  )
  return { token: secret.raw, expires_at: expiresAt.toISOString() }
}

type LinkRow = {
  kind: LinkKind
  email: string | null
  expires_at: Date
  plan: string | null
  person: PersonId | null
  invitation: number | null
  account: AccountId | null
  accountName: string | null
  suspended: boolean
  role: Role
  domains: DomainId[] | null
  domainNames: string[] | null
  name: string | null
  isOperator: boolean
  invitedBy: string
  isHeld: boolean
  isByCommand: boolean
}

const READ = `select l.kind, coalesce(i.email, p.email) as email, l.expires_at, coalesce(i.plan, l.plan) as plan,
         l.person_id as person, i.id as invitation, i.account_id as account, coalesce(a.name, a.email) as "accountName",
         coalesce(a.suspended_at is not null, false) as suspended, i.role, i.domains, i.name,
         case when i.domains is not null then array(
           select d.custom_domain from domain d where d.account_id = i.account_id and d.id = any (i.domains)
            order by d.custom_domain) end as "domainNames",
         coalesce(i.is_operator, false) as "isOperator", i.invited_by as "invitedBy", l.is_held as "isHeld", l.is_by_command as "isByCommand"
    from link l left join invitation i on i.id = l.invitation_id
    left join person p on p.id = l.person_id left join account a on a.id = i.account_id
   where l.token_hash = $1 and l.expires_at > $2 and ${IS_VALID}`

/** Throws `link_not_found` if the link is unknown, used, revoked or expired. */
async function findLink(db: Queryable, hash: Buffer, nowMs: number): Promise<LinkRow> {
  const { rows } = await db.query<LinkRow>(READ, [hash, new Date(nowMs)])
  if (rows[0] === undefined) throw new AppError('link_not_found')
  return rows[0]
}

/** Single sign-on is the only way: invitations are accepted in a session, and only the command line makes other links. */
function isClosed({ kind, isByCommand }: LinkRow): boolean {
  return kind === 'first' || (kind === 'reset' && !isByCommand)
}

/** `isOnlySso`: no passwords and no passkeys. Throws `link_not_found`. */
export async function readLink(
  db: Queryable,
  token: string,
  nowMs: number,
  { isOnlySso = false }: { isOnlySso?: boolean } = {},
): Promise<LinkView> {
  const link = await findLink(db, hashSecret(token), nowMs)
  if (isOnlySso && isClosed(link)) throw new AppError('link_not_found')
  const { kind, email, expires_at, accountName, role, domainNames, invitedBy } = link
  const expires = expires_at.toISOString()
  if (kind !== 'member') return { kind, email, expires_at: expires }
  const view: LinkView = {
    kind,
    email: email!,
    account: { name: accountName! },
    role,
    invited_by: invitedBy,
    expires_at: expires,
  }
  if (domainNames !== null) view.domains = domainNames
  return view
}

/** Who uses a link. `signedIn`: the session's person, if there is one. */
export type LinkUse = {
  /** Counts only if the link names none. */
  email: string | null
  password: string | null
  signedIn: { person: PersonId; email: string } | null
  /** No passwords and no passkeys: invitations are accepted in a session only. */
  isOnlySso?: boolean
  /** Checks the password of an existing person as a sign-in does. Throws `wrong_credentials` and `too_many_failures`. */
  checkPassword(credentials: { email: string; password: string }): Promise<{ id: PersonId; hash: string }>
}

/**
 * `passwordHash`: of the password that was set or checked. Null: the session that there is goes on. `waiting`: the hash of an
 * invitation that `acceptInvitation` accepts once the person has proved a second factor.
 */
export type UsedLink = {
  person: PersonId
  account: AccountId | null
  passwordHash: string | null
  waiting: Buffer | null
}

/**
 * Creates the account, joins one, or sets a password and ends sessions. Concurrent uses: one gets `link_not_found`. An
 * invitation never changes the password of a person that exists: it must be theirs. Only where it proves the address for the
 * first time is the password new, and sessions of before end. The link stays valid after every error.
 * Throws `link_not_found`, `invalid_field`, `account_exists`, `other_invited`, `wrong_credentials`, `account_suspended`,
 * `member_limit`, `sign_in_required`.
 */
export async function useLink(
  pool: pg.Pool,
  plans: PlanCatalogue,
  token: string,
  use: LinkUse,
  nowMs: number,
): Promise<UsedLink> {
  const hash = hashSecret(token)
  const link = await findLink(pool, hash, nowMs)
  if (link.suspended) throw new AppError('account_suspended')
  if (use.isOnlySso === true) checkWithoutPassword(link, use)
  if (link.kind === 'first') return useFirstLink(pool, plans, hash, use, nowMs)
  if (link.kind === 'reset') {
    const person = link.person!
    const passwordHash = await hashNewPassword(passwordOf(use), await wordsOf(pool, person))
    await transaction(pool, async (client) => {
      await endLink(client, hash, nowMs)
      await proveAddress(client, person)
      await actAsPerson({ id: person, email: link.email! }, () =>
        setPasswordHash(client, person, passwordHash),
      )
    })
    return { person, account: null, passwordHash, waiting: null }
  }
  const email = link.email!
  const { known, passwordHash, proves } = await accepterOf(pool, link, email, use)
  const checked = known !== null && passwordHash !== null && !proves
  if (checked && hasSecondFactor(await readFactors(pool, known))) {
    return { person: known, account: null, passwordHash, waiting: hash }
  }
  return transaction(pool, async (client) => {
    await lockInvitation(client, link)
    await endLink(client, hash, nowMs)
    const person =
      known === null
        ? await createPerson(client, { email, passwordHash, isUnproven: link.isHeld })
        : await lockPerson(client, known, proves ? null : passwordHash)
    // Meanwhile another request has made the person, or changed its password.
    if (person === null) throw new AppError('wrong_credentials')
    if (proves) await prove(client, person, passwordHash)
    const account = await actAsPerson({ id: person, email }, () => accept(client, plans, link, person))
    return { person, account, passwordHash, waiting: null }
  })
}

/** Accepts the invitation with this hash for a person who has proved both factors. Throws as `useLink`. */
export async function acceptInvitation(
  pool: pg.Pool,
  plans: PlanCatalogue,
  hash: Buffer,
  person: PersonId,
  nowMs: number,
): Promise<AccountId> {
  const link = await findLink(pool, hash, nowMs)
  if (link.suspended) throw new AppError('account_suspended')
  return transaction(pool, async (client) => {
    await lockInvitation(client, link)
    await endLink(client, hash, nowMs)
    if ((await lockPerson(client, person)) === null) throw new AppError('wrong_credentials')
    return actAsPerson({ id: person, email: link.email! }, () => accept(client, plans, link, person))
  })
}

/** Throws `wrong_credentials` if the person is proven meanwhile. */
async function prove(client: Queryable, person: PersonId, passwordHash: string): Promise<void> {
  if (!(await proveAddress(client, person))) throw new AppError('wrong_credentials')
  await setPasswordHash(client, person, passwordHash)
}

/** Throws `link_not_found`, `other_invited` and `sign_in_required`. */
function checkWithoutPassword(link: LinkRow, { signedIn }: LinkUse): void {
  if (isClosed(link)) throw new AppError('link_not_found')
  if (link.kind === 'reset' || signedIn?.email === link.email) return
  if (signedIn !== null) throw new AppError('other_invited', { word: link.email! })
  throw new AppError('sign_in_required')
}

/** Account, invitation, link: sending again and revoking lock them in the same order. */
async function lockInvitation(client: Queryable, { account, invitation }: LinkRow): Promise<void> {
  await client.query('select from account where id = $1 for no key update', [account])
  await client.query('select from invitation where id = $1 for update', [invitation])
}

async function useFirstLink(
  pool: pg.Pool,
  plans: PlanCatalogue,
  hash: Buffer,
  use: LinkUse,
  nowMs: number,
): Promise<UsedLink> {
  const email = emailOf(use.email ?? '')
  const passwordHash = await hashNewPassword(passwordOf(use), [email])
  return transaction(pool, async (client) => {
    const { plan } = await endLink(client, hash, nowMs)
    const person = await createPerson(client, { email, passwordHash })
    if (person === null) throw new AppError('account_exists')
    await setOperator(client, person, true)
    const account = await actAsPerson({ id: person, email }, () =>
      addAccountOf(client, plans, person, { email, plan: plan ?? '' }),
    )
    return { person, account: account.id, passwordHash, waiting: null }
  })
}

/** `proves`: the link shows for the first time that the person has the address, and sets the password. */
type Accepter =
  | { known: PersonId | null; passwordHash: string | null; proves: false }
  | { known: PersonId; passwordHash: string; proves: true }

/** The existing person who accepts, or null if the address has none; and the password that was checked or is to be set. */
async function accepterOf(
  db: Queryable,
  { kind, accountName, name, isHeld }: LinkRow,
  email: string,
  { password, signedIn, checkPassword }: LinkUse,
): Promise<Accepter> {
  if (signedIn !== null && signedIn.email !== email && kind === 'member') {
    throw new AppError('other_invited', { word: email })
  }
  const words = [email, accountName ?? name ?? '']
  const unproven = isHeld ? null : await findUnproven(db, email)
  if (unproven !== null) {
    const hash = await hashNewPassword(passwordOf({ password }), words)
    return { known: unproven, passwordHash: hash, proves: true }
  }
  if (signedIn?.email === email) return { known: signedIn.person, passwordHash: null, proves: false }
  const given = passwordOf({ password })
  if ((await findPersonOf(db, email)) === null) {
    return { known: null, passwordHash: await hashNewPassword(given, words), proves: false }
  }
  const { id, hash } = await checkPassword({ email, password: given })
  return { known: id, passwordHash: hash, proves: false }
}

/** The invitation is over. */
async function accept(
  client: Queryable,
  plans: PlanCatalogue,
  link: LinkRow,
  person: PersonId,
): Promise<AccountId> {
  await client.query('delete from invitation where id = $1', [link.invitation])
  if (link.account === null) {
    if (link.isOperator) await changeOperator(client, person, true)
    const made = { email: link.email!, plan: link.plan ?? '', name: link.name }
    return (await addAccountOf(client, plans, person, made)).id
  }
  if (await isMemberOf(client, person, link.account)) return link.account
  await checkMemberLimit(client, link.account)
  await addMember(client, link.account, person, link)
  const details = { role: link.role, invited_by: link.invitedBy }
  await record(client, { account: link.account, action: 'member.joined', target: link.email, details })
  return link.account
}

/** Deletes a valid link. Throws `link_not_found`. */
async function endLink(client: Queryable, hash: Buffer, nowMs: number): Promise<{ plan: string | null }> {
  const { rows } = await client.query<{ plan: string | null }>(
    `delete from link l where token_hash = $1 and expires_at > $2 and ${IS_VALID} returning plan`,
    [hash, new Date(nowMs)],
  )
  if (rows[0] === undefined) throw new AppError('link_not_found')
  return rows[0]
}

function passwordOf({ password }: Pick<LinkUse, 'password'>): string {
  if (password === null) throw invalidField(['password'], 'is required')
  return password
}

/** Tells whether an operator can sign in. */
export async function hasOperator(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(`${OPERATORS} limit 1`)
  return rowCount !== 0
}

/** Returns the person to send a reset link to, or null if there is none, or if all its accounts are suspended. */
export async function findResetPerson(
  db: Queryable,
  email: string,
): Promise<{ id: PersonId; email: string } | null> {
  const { rows } = await db.query<{ id: PersonId; email: string }>(
    `select id, email from person p where email = $1 and ${MAY_SIGN_IN}`,
    [parseEmail(email) ?? ''],
  )
  return rows[0] ?? null
}
