import { listAccounts } from '../../src/accounts/accounts.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { table } from '../table.ts'

export const accountList = defineCommand({
  options: {},
  async run(_values, around) {
    const accounts = await withDatabase(around, ({ pool }) => listAccounts(pool))
    const rows = accounts.map(({ id, email, plan, created_at }) => [String(id), email, plan, created_at])
    return {
      json: { accounts },
      text: table([{ heading: 'id', right: true }, 'email', 'plan', 'created'], rows, 'No accounts yet.'),
    }
  },
})
