import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { recipientPurpose, type Vault } from '../../certificates/vault/vault.ts'
import type { Queryable } from '../../db/transaction.ts'

// Links in e-mails carry `<recipient>.<HMAC>`, or `<recipient>.<round>.<HMAC>` to confirm. Nothing of them is stored: a
// repeated e-mail has the same link, and a token counts as long as its recipient has the same secret.

/** The recipient's secret, made at its first use. Throws MasterKeyError. */
export async function secretOf(db: Queryable, vault: Vault, recipient: number): Promise<Buffer> {
  const read = () =>
    db.query<{ key_sealed: Buffer | null }>('select key_sealed from recipient where id = $1', [recipient])
  const known = (await read()).rows[0]?.key_sealed
  if (known != null) return vault.open(recipientPurpose(recipient), known)
  const sealed = await vault.seal(recipientPurpose(recipient), randomBytes(32))
  await db.query('update recipient set key_sealed = $2 where id = $1 and key_sealed is null', [
    recipient,
    sealed,
  ])
  const { rows } = await read()
  return vault.open(recipientPurpose(recipient), rows[0]!.key_sealed!)
}

export function unsubscribeToken(secret: Buffer, recipient: number): string {
  return `${recipient}.${mac(secret, 'unsubscribe')}`
}

export function confirmToken(secret: Buffer, recipient: number, round: number): string {
  return `${recipient}.${round}.${mac(secret, `confirm ${round}`)}`
}

/** The address that was unsubscribed, at once and as often as asked; null: unknown token. */
export async function unsubscribe(db: Queryable, vault: Vault, token: string): Promise<string | null> {
  const recipient = await recipientOf(db, vault, token)
  if (recipient === null) return null
  const { rows } = await db.query<{ email: string }>(
    `with gone as (update recipient set state = 'unsubscribed', confirm_until = null where id = $1 returning id, email),
          cancelled as (update delivery set state = 'cancelled' where recipient_id = $1 and state = 'waiting')
     select email from gone`,
    [recipient],
  )
  return rows[0]?.email ?? null
}

/** Whose unsubscribe token it is; null: unknown. */
export async function recipientOf(db: Queryable, vault: Vault, token: string): Promise<number | null> {
  const [, id = ''] = /^(\d{1,9})\.[\w-]{43}$/.exec(token) ?? []
  const secret = await storedSecret(db, vault, Number(id))
  return secret !== null && isSame(unsubscribeToken(secret, Number(id)), token) ? Number(id) : null
}

/** Once, within seven days. The address; null: used, ended, or never was one. */
export async function confirm(db: Queryable, vault: Vault, token: string): Promise<string | null> {
  const [, id = '', round = ''] = /^(\d{1,9})\.(\d{1,9})\.[\w-]{43}$/.exec(token) ?? []
  const secret = await storedSecret(db, vault, Number(id))
  if (secret === null || !isSame(confirmToken(secret, Number(id), Number(round)), token)) return null
  const { rows } = await db.query<{ email: string }>(
    `update recipient set state = 'confirmed', confirm_until = null
      where id = $1 and confirm_round = $2 and confirm_until > clock_timestamp() returning email`,
    [id, round],
  )
  return rows[0]?.email ?? null
}

async function storedSecret(db: Queryable, vault: Vault, recipient: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ key_sealed: Buffer | null }>(
    'select key_sealed from recipient where id = $1::bigint',
    [recipient],
  )
  const sealed = rows[0]?.key_sealed
  try {
    return sealed == null ? null : vault.open(recipientPurpose(recipient), sealed)
  } catch {
    // Sealed with a master key that is lost: the link counts no more.
    return null
  }
}

function mac(secret: Buffer, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url')
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
