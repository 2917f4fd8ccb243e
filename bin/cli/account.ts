import { record } from '@prepaint/postgres/audit'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { cancelDeletion, requestDeletion } from '@prepaint/service/accounts/account-deletion.ts'
import { exportAccount } from '@prepaint/service/accounts/account-export.ts'
import { createAccount, listAccounts, setPlan } from '@prepaint/service/accounts/accounts.ts'
import type { Actor } from '@prepaint/service/accounts/actor.ts'
import { inviteToNewAccount } from '@prepaint/service/accounts/invitations.ts'
import { changeAccount } from '@prepaint/service/accounts/own-account.ts'
import { changeOperator, findContact } from '@prepaint/service/accounts/persons.ts'
import { welcomeUrl } from '@prepaint/service/accounts/sign-in/links.ts'
import { CommandError, type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { ACCOUNT_OPTIONS, accountNamed, apiUrl, COMMAND_LINE } from '../command-line/options.ts'
import { askHidden, canAsk, readStdin, table } from '../command-line/output.ts'
import { createFirstLink } from '../node/first-account.ts'
import { shownLink, shownResetLink } from './sign-in-link.ts'

const accountCreate = defineCommand({
  options: {
    email: { value: 'E', text: 'e-mail address; other commands name the account by it', required: true },
    plan: { value: 'P', text: 'a plan of the catalogue, such as agency_plus', required: true },
    name: { value: 'N', text: 'its name; default: the e-mail address' },
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
        createAccount(pool, around.config.plans, {
          email: values.email,
          plan: values.plan,
          name: values.name,
          password,
        }),
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
    name: { value: 'N', text: 'the name of the account; default: the e-mail address' },
    operator: { value: null, text: 'may see and change all accounts' },
  },
  async run({ email, plan, name, operator }, around) {
    const asked = { email, plan, name: name ?? undefined, isOperator: operator, invitedBy: COMMAND_LINE }
    const { link: made } = await withDatabase(around, ({ pool, nowMs }) =>
      inviteToNewAccount(pool, around.config.plans, asked, nowMs),
    )
    return shownLink(around, 'Invitation link, shown only once. It works once, within a week:', email, made)
  },
})

const accountList = defineCommand({
  options: {},
  async run(_values, around) {
    const accounts = await withDatabase(around, ({ pool }) => listAccounts(pool))
    const rows = accounts.map(({ id, email, name, plan, created_at }) => [
      String(id),
      email,
      name,
      plan,
      created_at,
    ])
    return {
      json: { accounts },
      text: table(
        [{ heading: 'id', right: true }, 'email', 'name', 'plan', 'created'],
        rows,
        'No accounts yet.',
      ),
    }
  },
})

const accountResetLink = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    return shownResetLink(around, async (pool) => findContact(pool, (await accountNamed(pool, named)).id))
  },
})

const NO_FIRST_LINK =
  'PREPAINT_OIDC_ONLY=1 allows no passwords: sign in by single sign-on, then run prepaint person set-operator --person E'

const accountFirstLink = defineCommand({
  options: {},
  async run(_values, around) {
    const { plans, sso } = around.config
    if (sso?.isOnly === true) throw new CommandError(NO_FIRST_LINK)
    const made = await withDatabase(around, ({ pool, nowMs }) => createFirstLink(pool, plans, nowMs), {
      create: true,
    })
    if (made === null) throw new CommandError('An operator can sign in already')
    const url = welcomeUrl(apiUrl(around.config), made.token)
    around.say("Link to create the operator's account, shown only once. It works once, within a day:")
    return { json: { url, expires_at: made.expires_at }, text: url }
  },
})

const accountSetPlan = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    plan: { value: 'P', text: 'the new plan; applies from the next request', required: true },
  },
  async run({ plan, ...named }, around) {
    const account = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      return setPlan(pool, around.config.plans, id, plan)
    })
    return { json: account, text: `Account ${account.email} is now on plan ${account.plan}.` }
  },
})

const accountSetRole = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    role: { value: 'R', text: 'owner, or operator: may see and change all accounts', required: true },
  },
  async run({ role, ...named }, around) {
    if (role !== 'owner' && role !== 'operator') throw new CommandError('--role must be owner or operator')
    const account = await withDatabase(around, async ({ pool }) => {
      const found = await accountNamed(pool, named)
      const person = await findContact(pool, found.id)
      await transaction(pool, (client) => changeOperator(client, person.id, role === 'operator'))
      return found
    })
    return { json: { ...account, role }, text: `The owner of account ${account.email} is now an ${role}.` }
  },
})

const accountRename = defineCommand({
  options: { ...ACCOUNT_OPTIONS, name: { value: 'N', text: 'the new name', required: true } },
  async run({ name, ...named }, around) {
    const account = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      return changeAccount(pool, id, OPERATOR, { name })
    })
    return { json: { account }, text: `The account is now called ${account.name}.` }
  },
})

const accountExport = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const lines = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
      await transaction(pool, (client) => record(client, { account: id, action: 'account.exported' }))
      const found: object[] = []
      for await (const line of exportAccount(pool, id, { plans: around.config.plans, nowMs }))
        found.push(line)
      return found
    })
    return { json: { lines }, text: lines.map((line) => JSON.stringify(line)).join('\n') }
  },
})

const accountDelete = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    cancel: { value: null, text: 'keep the account, whose deletion was requested' },
  },
  async run({ cancel, ...named }, around) {
    const { notifySpeed: speed } = around.config
    const { name, deletion } = await withDatabase(around, async ({ pool, nowMs }) => {
      const account = await accountNamed(pool, named)
      if (cancel) {
        await cancelDeletion(pool, account.id, OPERATOR, nowMs)
        return { name: account.name, deletion: null }
      }
      const asked = { name: account.name, nowMs, speed }
      const requested = await requestDeletion(pool, account.id, OPERATOR, asked)
      return { name: account.name, deletion: requested.deletion }
    })
    const text =
      deletion === null
        ? `The account ${name} stays.`
        : `The account ${name} and everything in it will be deleted at ${deletion.deletes_at}. Cancel it with --cancel.`
    return { json: { deletion }, text }
  },
})

/** The operator acts for the owners of the account. */
const OPERATOR: Actor = { member: null, role: 'owner' }

export const commands: Commands = {
  'account rename': accountRename,
  'account export': accountExport,
  'account delete': accountDelete,
  'account create': accountCreate,
  'account list': accountList,
  'account set-plan': accountSetPlan,
  'account invite': accountInvite,
  'account first-link': accountFirstLink,
  'account reset-link': accountResetLink,
  'account set-role': accountSetRole,
}
