import { ownerOfKey, revokeKey } from '../../src/accounts/keys.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { idOf } from '../option-values.ts'

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
