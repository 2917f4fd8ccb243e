import { createLink } from '../../src/accounts/sign-in-links.ts'
import { apiUrl } from '../api-url.ts'
import { defineCommand } from '../command.ts'
import { welcomeUrl } from '../first-account.ts'
import { withDatabase } from '../open-store.ts'

export const accountInvite = defineCommand({
  options: {
    email: { value: 'E', text: 'whom to invite', required: true },
    plan: { value: 'P', text: 'the plan of the account', required: true },
    operator: { value: null, text: 'may see and change all accounts' },
  },
  async run({ email, plan, operator }, around) {
    const role = operator ? 'operator' : 'owner'
    const made = await withDatabase(around, ({ pool, nowMs }) =>
      createLink(pool, around.config.plans, { kind: 'invitation', email, plan, role }, nowMs),
    )
    const url = welcomeUrl(apiUrl(around.config), made.token)
    around.say('An invitation. The link is shown this once and works once, for a week:')
    return { json: { email, url, expires_at: made.expires_at }, text: url }
  },
})
