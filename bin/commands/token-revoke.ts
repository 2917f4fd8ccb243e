import { ownerOfToken, revokeToken } from '../../src/accounts/tokens.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { idOf } from '../option-values.ts'

export const tokenRevoke = defineCommand({
  options: { id: { value: 'ID', text: 'as "token list" shows it', required: true } },
  async run(values, around) {
    const id = idOf(values.id)
    await withDatabase(around, async ({ pool, nowMs }) =>
      revokeToken(pool, await ownerOfToken(pool, id), id, nowMs),
    )
    return {
      json: { revoked: id },
      text: `Webhook token ${id} is revoked: the next request with it is refused.`,
    }
  },
})
