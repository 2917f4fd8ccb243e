import { findAccount, setRole } from '../../src/accounts/accounts.ts'
import { CommandError, defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'

export const accountSetRole = defineCommand({
  options: {
    email: { value: 'E', text: 'the account', required: true },
    role: { value: 'R', text: 'owner, or operator: may see and change all accounts', required: true },
  },
  async run({ email, role }, around) {
    if (role !== 'owner' && role !== 'operator') throw new CommandError('--role must be owner or operator')
    const account = await withDatabase(around, async ({ pool }) => {
      const { id } = await findAccount(pool, email)
      return setRole(pool, id, role)
    })
    return { json: account, text: `Account ${account.email} is now an ${account.role}.` }
  },
})
