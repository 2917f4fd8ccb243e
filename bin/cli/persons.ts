import { AppError } from '@prepaint/contract/errors.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import {
  changeOperator,
  findPersonByEmail,
  findPersonById,
  listPersons,
} from '@prepaint/service/accounts/persons.ts'
import { setEmailByOperator } from '@prepaint/service/accounts/sign-in/email-change.ts'
import { resetSecondFactor } from '@prepaint/service/accounts/sign-in/second-factor.ts'
import { endSession, endSessions, listSessions } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { forgetSsoLogin } from '@prepaint/service/accounts/sign-in/sso-person.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { PERSON_OPTION, parseIdOption, parseYesNoOption } from '../command-line/options.ts'
import { table } from '../command-line/output.ts'
import { shownResetLink } from './sign-in-link.ts'

const personList = defineCommand({
  options: {},
  async run(_values, around) {
    const persons = await withDatabase(around, ({ pool }) => listPersons(pool))
    const rows = persons.map((person) => [
      String(person.id),
      person.email,
      person.is_operator ? 'yes' : 'no',
      String(person.accounts),
      person.can_sign_in ? 'yes' : 'no',
    ])
    const headings = [
      { heading: 'id', right: true },
      'email',
      'operator',
      { heading: 'accounts', right: true },
      'can sign in',
    ] as const
    return { json: { persons }, text: table([...headings], rows, 'No persons yet.') }
  },
})

const personSetOperator = defineCommand({
  options: {
    person: PERSON_OPTION,
    operator: { value: 'yes|no', text: 'whether the person may see and change all accounts; default: yes' },
  },
  async run({ person: email, operator }, around) {
    const isOperator = parseYesNoOption('operator', operator ?? 'yes')
    const person = await withDatabase(around, async ({ pool }) => {
      const { id } = await findPersonByEmail(pool, email)
      await transaction(pool, (client) => changeOperator(client, id, isOperator))
      return findPersonByEmail(pool, email)
    })
    const now = isOperator ? 'is now an operator' : 'is no operator now'
    return { json: { person }, text: `${person.email} ${now}.` }
  },
})

const personResetLink = defineCommand({
  options: { person: PERSON_OPTION },
  async run({ person: asked }, around) {
    return shownResetLink(around, (pool) => findPersonByEmail(pool, asked))
  },
})

const personSetEmail = defineCommand({
  options: {
    person: PERSON_OPTION,
    new: { value: 'E', text: 'the new address', required: true },
  },
  async run({ person: email, new: next }, around) {
    const person = await withDatabase(around, async ({ pool }) => {
      const { id } = await findPersonByEmail(pool, email)
      await setEmailByOperator(pool, id, next)
      return findPersonById(pool, id)
    })
    return {
      json: { person },
      text: `The address is ${person.email} now. All sessions of the person have ended.`,
    }
  },
})

const personResetSecondFactor = defineCommand({
  options: { person: PERSON_OPTION },
  async run({ person: email }, around) {
    const person = await withDatabase(around, async ({ pool }) => {
      const found = await findPersonByEmail(pool, email)
      await resetSecondFactor(pool, found.id)
      return found
    })
    const text = `${person.email} signs in without a second factor from now on. All its sessions have ended.`
    return { json: { person }, text }
  },
})

const personForgetSso = defineCommand({
  options: { person: PERSON_OPTION },
  async run({ person: email }, around) {
    const person = await withDatabase(around, async ({ pool }) => {
      const { id } = await findPersonByEmail(pool, email)
      await forgetSsoLogin(pool, id)
      return findPersonById(pool, id)
    })
    const text = `The next login of the provider with the address ${person.email} is this person. Password, second factors and sessions of before are gone.`
    return { json: { person }, text }
  },
})

const sessionList = defineCommand({
  options: { person: PERSON_OPTION },
  async run({ person: email }, around) {
    const sessions = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findPersonByEmail(pool, email)
      return listSessions(pool, id, null, nowMs)
    })
    const rows = sessions.map(({ id, address, user_agent: agent, created_at: since, way }) => [
      String(id),
      since,
      way,
      address,
      agent,
    ])
    const headings = [{ heading: 'id', right: true }, 'since', 'by', 'address', 'browser'] as const
    return { json: { sessions }, text: table([...headings], rows, 'No sessions.') }
  },
})

const sessionEnd = defineCommand({
  options: { person: PERSON_OPTION, id: { value: 'ID', text: 'one session; default: all' } },
  async run({ person: email, id: raw }, around) {
    const ended = await withDatabase(around, async ({ pool }) => {
      const { id } = await findPersonByEmail(pool, email)
      if (raw === null) return transaction(pool, (client) => endSessions(client, id))
      if (!(await endSession(pool, id, parseIdOption(raw)))) throw new AppError('session_not_found')
      return 1
    })
    return { json: { ended }, text: ended === 1 ? '1 session ended.' : `${ended} sessions ended.` }
  },
})

export const commands: Commands = {
  'person list': personList,
  'person set-operator': personSetOperator,
  'person reset-link': personResetLink,
  'person set-email': personSetEmail,
  'person reset-second-factor': personResetSecondFactor,
  'person forget-sso': personForgetSso,
  'session list': sessionList,
  'session end': sessionEnd,
}
