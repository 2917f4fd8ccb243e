import { findAccount } from '../../src/accounts/accounts.ts'
import { createLink } from '../../src/accounts/sign-in-links.ts'
import { apiUrl } from '../api-url.ts'
import { defineCommand } from '../command.ts'
import { welcomeUrl } from '../first-account.ts'
import { withDatabase } from '../open-store.ts'

export const accountResetLink = defineCommand({
  options: { email: { value: 'E', text: 'the account', required: true } },
  async run({ email }, around) {
    const made = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, email)
      return createLink(pool, around.config.plans, { kind: 'reset', account: id }, nowMs)
    })
    const url = welcomeUrl(apiUrl(around.config), made.token)
    around.say('A link to set a new password. It is shown this once and works once, for an hour:')
    return { json: { email, url, expires_at: made.expires_at }, text: url }
  },
})
