import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { recipientPurpose, type Vault } from '../../certificates/vault/vault.ts'
import type { Queryable } from '../../db/transaction.ts'

// Links in e-mails carry `<recipient>.<round>.<HMAC>`. Nothing of them is stored: a repeated e-mail has the same link, and
// a token counts as long as its recipient has the same secret.

/** The recipient's secret, made at its first use. Throws MasterKeyError. */
export async function secretOf(db: Queryable, vault: Vault, recipient: number): Promise<Buffer> {
  const purpose = recipientPurpose(recipient)
  const { rows } = await db.query<{ key_sealed: Buffer }>(
    'update recipient set key_sealed = coalesce(key_sealed, $2) where id = $1 returning key_sealed',
    [recipient, await vault.seal(purpose, randomBytes(32))],
  )
  return vault.open(purpose, rows[0]!.key_sealed)
}

/** `round` 0: to unsubscribe. */
export function linkToken(secret: Buffer, recipient: number, round: number): string {
  const mac = createHmac('sha256', secret).update(`link ${round}`).digest('base64url')
  return [recipient, round, mac].join('.')
}

/** Null: not genuine. */
export async function readLink(
  db: Queryable,
  vault: Vault,
  token: string,
): Promise<{ recipient: number; round: number } | null> {
  const [recipient = 0, round = 0] =
    /^(\d{1,9})\.(\d{1,9})\.[\w-]{43}$/.exec(token)?.slice(1).map(Number) ?? []
  const { rows } = await db.query<{ key_sealed: Buffer }>(
    'select key_sealed from recipient where id = $1 and key_sealed is not null',
    [recipient],
  )
  if (rows[0] === undefined) return null
  try {
    const secret = vault.open(recipientPurpose(recipient), rows[0].key_sealed)
    const genuine = linkToken(secret, recipient, round)
    return timingSafeEqual(Buffer.from(genuine), Buffer.from(token)) ? { recipient, round } : null
  } catch {
    // Of another length, or sealed with a master key that is lost.
    return null
  }
}

/** At once and as often as asked. The address; null: it was removed. */
export async function unsubscribe(db: Queryable, recipient: number): Promise<string | null> {
  const { rows } = await db.query<{ email: string }>(
    `with cancelled as (update delivery set state = 'cancelled' where recipient_id = $1 and state = 'waiting')
     update recipient set state = 'unsubscribed', confirm_until = null where id = $1 returning email`,
    [recipient],
  )
  return rows[0]?.email ?? null
}

/** Once, within seven days. The address; null: used, ended, or never was one. */
export async function confirm(db: Queryable, vault: Vault, token: string): Promise<string | null> {
  const link = await readLink(db, vault, token)
  const { rows } = await db.query<{ email: string }>(
    `update recipient set state = 'confirmed', confirm_until = null
      where id = $1 and confirm_round = $2 and confirm_until > clock_timestamp() returning email`,
    [link?.recipient, link?.round],
  )
  return rows[0]?.email ?? null
}
