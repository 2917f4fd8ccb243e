import { createAccount } from '../../src/accounts/accounts.ts'
import { CommandError, defineCommand, UsageError } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { askHidden, canAsk, readStdin } from '../terminal.ts'

export const accountCreate = defineCommand({
  options: {
    email: { value: 'E', text: 'e-mail address; names the account in other commands', required: true },
    plan: { value: 'P', text: 'one of the plan catalogue, such as agency_plus', required: true },
    password: { value: 'W', text: 'for the dashboard; others can see it in the list of processes' },
    'password-stdin': { value: null, text: 'read the password from stdin' },
  },
  async run(values, around) {
    if (values.password !== null && values['password-stdin']) {
      throw new UsageError('Give --password or --password-stdin, not both')
    }
    const password = values['password-stdin']
      ? await readStdin()
      : (values.password ?? (canAsk() && !around.json ? await askPassword() : null))
    const account = await withDatabase(around, ({ pool }) =>
      createAccount(pool, around.config.plans, { email: values.email, plan: values.plan, password }),
    )
    const without =
      password === null ? ' without a password: nobody can sign in to the dashboard with it' : ''
    return {
      json: account,
      text: `Account ${account.email} created on plan ${account.plan}${without}.`,
    }
  },
})

/** Enter alone: an account without a password, for use by keys only. */
async function askPassword(): Promise<string | null> {
  const answers: string[] = []
  await askHidden('Password for the dashboard (Enter for none): ', (answer) => {
    answers.push(answer)
    return answers.length === 1 && answer !== '' ? 'Once more: ' : null
  })
  const [password = '', again] = answers
  if (password === '') return null
  if (password !== again) throw new CommandError('The two passwords differ')
  return password
}
