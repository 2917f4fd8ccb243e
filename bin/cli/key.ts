import { findAccount } from '../../src/accounts/accounts.ts'
import { createKey, listKeys, ownerOfKey, revokeKey } from '../../src/accounts/keys.ts'
import { defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { idOf, timeOf } from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

export const keyCreate = defineCommand({
  options: {
    email: { value: 'E', text: 'the account', required: true },
    name: { value: 'N', text: 'what you will know the key by', required: true },
    expires: { value: 'ISO', text: 'when it ends, such as 2027-01-31 or 2027-01-31T12:00:00Z' },
  },
  async run({ email, name, expires }, around) {
    const expiresAt = expires === null ? null : timeOf('expires', expires)
    const created = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, email)
      const now = { plans: around.config.plans, nowMs }
      return createKey(pool, id, { name, expiresAt }, now)
    })
    around.say(`API key "${created.name}" (id ${created.id}). It is shown this once:`)
    return { json: created, text: created.key }
  },
})

export const keyList = defineCommand({
  options: { email: { value: 'E', text: 'the account', required: true } },
  async run({ email }, around) {
    const keys = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, email)
      return listKeys(pool, id, nowMs)
    })
    const rows = keys.map((key) => [
      String(key.id),
      key.name,
      `${key.hint}…`,
      key.state,
      key.created_at,
      key.expires_at ?? 'never',
      key.last_used_at ?? 'never',
    ])
    const columns = [
      { heading: 'id', right: true },
      'name',
      'key',
      'state',
      'created',
      'expires',
      'last used',
    ] as const
    return { json: { keys }, text: table(columns, rows, 'This account has no API keys.') }
  },
})

export const keyRevoke = defineCommand({
  options: { id: { value: 'ID', text: 'as "key list" shows it', required: true } },
  async run(values, around) {
    const id = idOf(values.id)
    await withDatabase(around, async ({ pool, nowMs }) =>
      revokeKey(pool, await ownerOfKey(pool, id), id, nowMs),
    )
    return { json: { revoked: id }, text: `API key ${id} is revoked: the next request with it is refused.` }
  },
})
