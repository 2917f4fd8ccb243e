import { findAccount, setPlan } from '../../src/accounts/accounts.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'

export const accountSetPlan = defineCommand({
  options: {
    email: { value: 'E', text: 'the account', required: true },
    plan: { value: 'P', text: 'the new plan; takes effect on the next request', required: true },
  },
  async run({ email, plan }, around) {
    const account = await withDatabase(around, async ({ pool }) => {
      const { id } = await findAccount(pool, email)
      return setPlan(pool, around.config.plans, id, plan)
    })
    return { json: account, text: `Account ${account.email} is now on plan ${account.plan}.` }
  },
})
