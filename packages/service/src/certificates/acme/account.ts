import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { accountPurpose, type Vault } from '../vault/vault.ts'

/** The fleet's account key at a CA, created once. A new CA makes all certificates of the previous one due. */
export async function accountKey(
  db: Queryable,
  vault: Vault,
  directory: string,
  nowMs: number,
): Promise<KeyObject> {
  const purpose = accountPurpose(directory)
  const kept = await find()
  if (kept !== null) return kept
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const sealed = await vault.seal(purpose, privateKey.export({ type: 'pkcs8', format: 'der' }))
  await db.query(
    `with made as (
       insert into acme_account (directory, key_sealed) values ($1, $2) on conflict do nothing returning directory)
     update certificate_order o set next_at = $3, renew_at = $3
       from made, certificate c
      where c.domain_id = o.domain_id and c.source = 'acme'`,
    [directory, sealed, new Date(nowMs)],
  )
  const made = await find()
  if (made === null) throw new Error('the ACME account was removed while it was being made')
  return made

  async function find(): Promise<KeyObject | null> {
    const { rows } = await db.query<{ key_sealed: Buffer }>(
      'select key_sealed from acme_account where directory = $1',
      [directory],
    )
    const sealed = rows[0]?.key_sealed
    if (sealed === undefined) return null
    return createPrivateKey({ key: vault.open(purpose, sealed), type: 'pkcs8', format: 'der' })
  }
}
