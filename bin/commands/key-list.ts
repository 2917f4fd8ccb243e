import { findAccount } from '../../src/accounts/accounts.ts'
import { listKeys } from '../../src/accounts/keys.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { table } from '../table.ts'

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
