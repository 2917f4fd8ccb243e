import { randomBytes } from 'node:crypto'

import type pg from 'pg'

import { SIGN_IN_PURPOSE, type Vault } from '../src/certificates/vault.ts'

/**
 * What signs the cookies of the dashboard, the same on every node: made by the
 * first one that needs it, and stored sealed. Throws MasterKeyError where this
 * node cannot open it.
 */
export async function signInSecret(pool: pg.Pool, vault: Vault): Promise<string> {
  const stored = async () => {
    const { rows } = await pool.query<{ key_sealed: Buffer }>('select key_sealed from sign_in_secret')
    return rows[0]?.key_sealed
  }
  let sealed = await stored()
  if (sealed === undefined) {
    const made = await vault.seal(SIGN_IN_PURPOSE, Buffer.from(randomBytes(32).toString('base64url')))
    await pool.query('insert into sign_in_secret (key_sealed) values ($1) on conflict do nothing', [made])
    sealed = await stored()
  }
  if (sealed === undefined) throw new Error('the secret of sessions is gone')
  return vault.open(SIGN_IN_PURPOSE, sealed).toString()
}
