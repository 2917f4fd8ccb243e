import {
  createAccount,
  findAccount,
  listAccounts,
  setPlan,
  setRole,
} from '@prepaint/service/accounts/accounts.ts'
import { createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { CommandError, type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { apiUrl, EMAIL_OPTION } from '../command-line/options.ts'
import { askHidden, canAsk, readStdin, table } from '../command-line/output.ts'
import { welcomeUrl } from '../node/first-account.ts'

const accountCreate = defineCommand({
  options: {
    email: { value: 'E', text: 'e-mail address; other commands name the account by it', required: true },
    plan: { value: 'P', text: 'a plan of the catalogue, such as agency_plus', required: true },
    password: { value: 'W', text: 'for the dashboard; visible to others in the process list' },
    'password-stdin': { value: null, text: 'read the password from stdin' },
  },
  async run(values, around) {
    if (values.password !== null && values['password-stdin']) {
      throw new UsageError('Give --password or --password-stdin, not both')
    }
    let { password } = values
    if (values['password-stdin']) password = await readStdin()
    else if (password === null && canAsk() && !around.json) password = await askPassword()
    const account = await withDatabase(
      around,
      ({ pool }) =>
        createAccount(pool, around.config.plans, { email: values.email, plan: values.plan, password }),
      { create: true },
    )
    const without = password === null ? ' without a password: it cannot sign in to the dashboard' : ''
    return {
      json: account,
      text: `Account ${account.email} created on plan ${account.plan}${without}.`,
    }
  },
})

/** Returns null if Enter alone was pressed: such an account has no password and is for API keys only. */
async function askPassword(): Promise<string | null> {
  const answers: string[] = []
  await askHidden('Password for the dashboard (Enter for none): ', (answer) => {
    answers.push(answer)
    return answers.length === 1 && answer !== '' ? 'Repeat it: ' : null
  })
  const [password = '', again] = answers
  if (password === '') return null
  if (password !== again) throw new CommandError('The two passwords differ')
  return password
}

const accountInvite = defineCommand({
  options: {
    email: { value: 'E', text: 'the e-mail address to invite', required: true },
    plan: { value: 'P', text: 'the plan of the account', required: true },
    operator: { value: null, text: 'may see and change all accounts' },
  },
  async run({ email, plan, operator }, around) {
    const role = operator ? 'operator' : 'owner'
    const made = await withDatabase(around, ({ pool, nowMs }) =>
      createLink(pool, around.config.plans, { kind: 'invitation', email, plan, role }, nowMs),
    )
    const url = welcomeUrl(apiUrl(around.config), made.token)
    around.say('Invitation link, shown only once. It works once, within a week:')
    return { json: { email, url, expires_at: made.expires_at }, text: url }
  },
})

const accountList = defineCommand({
  options: {},
  async run(_values, around) {
    const accounts = await withDatabase(around, ({ pool }) => listAccounts(pool))
    const rows = accounts.map(({ id, email, plan, role, created_at }) => [
      String(id),
      email,
      plan,
      role,
      created_at,
    ])
    return {
      json: { accounts },
      text: table(
        [{ heading: 'id', right: true }, 'email', 'plan', 'role', 'created'],
        rows,
        'No accounts yet.',
      ),
    }
  },
})

const accountResetLink = defineCommand({
  options: { email: EMAIL_OPTION },
  async run({ email }, around) {
    const made = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, email)
      return createLink(pool, around.config.plans, { kind: 'reset', account: id }, nowMs)
    })
    const url = welcomeUrl(apiUrl(around.config), made.token)
    around.say('Link to set a new password, shown only once. It works once, within an hour:')
    return { json: { email, url, expires_at: made.expires_at }, text: url }
  },
})

const accountSetPlan = defineCommand({
  options: {
    email: EMAIL_OPTION,
    plan: { value: 'P', text: 'the new plan; applies from the next request', required: true },
  },
  async run({ email, plan }, around) {
    const account = await withDatabase(around, async ({ pool }) => {
      const { id } = await findAccount(pool, email)
      return setPlan(pool, around.config.plans, id, plan)
    })
    return { json: account, text: `Account ${account.email} is now on plan ${account.plan}.` }
  },
})

const accountSetRole = defineCommand({
  options: {
    email: EMAIL_OPTION,
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

export const commands: Commands = {
  'account create': accountCreate,
  'account list': accountList,
  'account set-plan': accountSetPlan,
  'account invite': accountInvite,
  'account reset-link': accountResetLink,
  'account set-role': accountSetRole,
}
