import { findAccount } from '../../src/accounts/accounts.ts'
import { createKey } from '../../src/accounts/keys.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { timeOf } from '../option-values.ts'

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
