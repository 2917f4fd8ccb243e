import { randomBytes } from 'node:crypto'
import { type BrandingChange, type BrandingView, NO_BRANDING } from '@prepaint/contract/api/branding.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { changedFields, record } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { Look } from '../mail/mailer.ts'
import { type Actor, actorNow } from './actor.ts'
import type { Logo } from './logo.ts'
import { lockAccount } from './members.ts'

type Row = Omit<BrandingView, 'logo_url'> & { logo_key: string | null }

/** How the account looks to its clients. */
export async function readBranding(db: Queryable, account: AccountId): Promise<BrandingView> {
  const { rows } = await db.query<Row>({
    name: 'read-branding',
    text: 'select name, colour, sender_name, show_prepaint, logo_key from account_branding where account_id = $1',
    values: [account],
  })
  const row = rows[0]
  if (row === undefined) return NO_BRANDING
  const { logo_key: key, ...chosen } = row
  return { ...chosen, logo_url: key === null ? null : `/logos/${key}` }
}

/** How letters of the account look. An account that has chosen nothing has no brand: its letters are the operator's. */
export async function readLook(db: Queryable, account: AccountId): Promise<Look> {
  const { rows } = await db.query<Omit<BrandingView, 'logo_url'> & { account_name: string }>({
    name: 'read-look',
    text: `select b.name, b.colour, b.sender_name, b.show_prepaint, coalesce(a.name, a.email) as account_name
             from account_branding b join account a on a.id = b.account_id where b.account_id = $1`,
    values: [account],
  })
  const row = rows[0]
  if (row === undefined) return { brand: null, senderName: null }
  const {
    name,
    colour,
    sender_name: senderName,
    show_prepaint: showPrepaint,
    account_name: accountName,
  } = row
  const isChosen = name !== null || colour !== null || !showPrepaint
  return { brand: isChosen ? { name: name ?? accountName, colour, showPrepaint } : null, senderName }
}

/** Changes what is given. Throws as `actorNow`. */
export async function changeBranding(
  pool: pg.Pool,
  account: AccountId,
  actor: Actor,
  change: BrandingChange,
): Promise<BrandingView> {
  return changed(pool, account, actor, 'changeBranding', async (client, before) => {
    const { name, colour, sender_name, show_prepaint } = { ...before, ...defined(change) }
    await client.query(
      `insert into account_branding (account_id, name, colour, sender_name, show_prepaint) values ($1, $2, $3, $4, $5)
       on conflict (account_id) do update set name = excluded.name, colour = excluded.colour,
         sender_name = excluded.sender_name, show_prepaint = excluded.show_prepaint`,
      [account, name, colour, sender_name, show_prepaint],
    )
  })
}

function defined(change: BrandingChange): Partial<BrandingView> {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
}

/** Its public address cannot be guessed, and is another one for each logo. Throws as `actorNow`. */
export async function putLogo(
  pool: pg.Pool,
  account: AccountId,
  actor: Actor,
  { type, bytes }: Logo,
): Promise<BrandingView> {
  return changed(pool, account, actor, 'putLogo', async (client) => {
    await client.query(
      `insert into account_branding (account_id, logo, logo_type, logo_key) values ($1, $2, $3, $4)
       on conflict (account_id) do update set logo = excluded.logo, logo_type = excluded.logo_type, logo_key = excluded.logo_key`,
      [account, bytes, type, randomBytes(32).toString('base64url')],
    )
  })
}

/** Does nothing if there is none. Throws as `actorNow`. */
export async function deleteLogo(pool: pg.Pool, account: AccountId, actor: Actor): Promise<BrandingView> {
  return changed(pool, account, actor, 'deleteLogo', async (client) => {
    await client.query(
      'update account_branding set logo = null, logo_type = null, logo_key = null where account_id = $1',
      [account],
    )
  })
}

async function changed(
  pool: pg.Pool,
  account: AccountId,
  actor: Actor,
  action: 'changeBranding' | 'putLogo' | 'deleteLogo',
  write: (client: Queryable, before: BrandingView) => Promise<void>,
): Promise<BrandingView> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await actorNow(client, account, actor, action)
    const before = await readBranding(client, account)
    await write(client, before)
    const after = await readBranding(client, account)
    const details = changedFields(before, after)
    if (Object.keys(details).length > 0) {
      await record(client, { account, action: 'account.branding_changed', details })
    }
    return after
  })
}

const LOGO_KEY = /^[\w-]{43}$/

/** `key` names the logo in its address. Returns null if no account has such a logo. */
export async function findLogo(db: Queryable, key: string): Promise<Logo | null> {
  // PostgreSQL refuses some characters in a text. The pattern takes only what `putLogo` makes.
  if (!LOGO_KEY.test(key)) return null
  const { rows } = await db.query<Logo>(
    'select logo as bytes, logo_type as type from account_branding where logo_key = $1',
    [key],
  )
  return rows[0] ?? null
}
