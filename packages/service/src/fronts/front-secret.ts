import { createHmac, randomBytes } from 'node:crypto'
import type { AccountId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

const KEY_BYTES = 32
const ID_DIGITS = 16

/** Names accounts to their fronts, alike on all nodes and for all keys of an account, without telling their number. */
export class FrontAccountIds {
  readonly #db: Queryable
  #key: Promise<string> | null = null

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Returns 16 hex digits. Rejects if the database does not answer. */
  async idOf(account: AccountId): Promise<string> {
    this.#key ??= installationKey(this.#db).catch((error: unknown) => {
      this.#key = null
      throw error
    })
    return createHmac('sha256', await this.#key)
      .update(`account ${account}`)
      .digest('hex')
      .slice(0, ID_DIGITS)
  }
}

/** Returns the secret from which this installation derives identifiers and tokens. The first node makes it. */
export async function installationKey(db: Queryable): Promise<string> {
  await db.query('insert into front_secret (key) values ($1) on conflict (is_only) do nothing', [
    randomBytes(KEY_BYTES).toString('base64url'),
  ])
  const { rows } = await db.query<{ key: string }>('select key from front_secret')
  return rows[0]!.key
}
