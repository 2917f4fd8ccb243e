import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testCommands } from '../../test/support/commands.ts'
import { COMMANDS } from '../cli/commands.ts'
import { defineCommand, parseArguments, UsageError } from './command.ts'
import { fields, table } from './output.ts'
import { commandHelp } from './run.ts'

const plain = defineCommand({
  options: {
    email: { value: 'E', text: 'an address', required: true },
    plan: { value: 'P', text: 'a plan' },
    loud: { value: null, text: 'a switch' },
    path: { value: 'P', text: 'a path', many: true },
  },
  run: async () => null,
})
const withOperand = defineCommand({
  options: {},
  operand: { name: 'URL', text: 'an address' },
  run: async () => null,
})

describe('reading the arguments of a command', () => {
  it('gives strings, null for what is absent, and booleans for switches', () => {
    const { values, help } = parseArguments(plain, ['--email', 'a@b.example', '--loud'])
    const given = { email: 'a@b.example', plan: null, loud: true, path: [], json: false, help: false }
    assert.deepEqual([values, help], [given, false])
    const many = parseArguments(plain, ['--email', 'x', '--path', '/b', '--path=/a'])
    assert.deepEqual(many.values['path'], ['/b', '/a'])
    assert.equal(parseArguments(plain, ['--email=--odd']).values['email'], '--odd')
    assert.equal(parseArguments(withOperand, ['https://a.example/']).operand, 'https://a.example/')
  })

  it('asks for nothing else when help is wanted', () => {
    assert.equal(parseArguments(plain, ['--help']).help, true)
    assert.equal(parseArguments(withOperand, ['-h']).help, true)
  })

  const refused: Record<string, [command: typeof plain, args: string[], words: RegExp]> = {
    'an unknown option': [plain, ['--email', 'x', '--colour', 'red'], /Unknown option --colour.*--plan/],
    'an unknown short one': [plain, ['-x'], /Unknown option -x/],
    'a name of every object': [plain, ['--email', 'x', '--constructor'], /Unknown option --constructor/],
    'a required one that is absent': [plain, [], /Missing --email E/],
    'a value that is absent': [plain, ['--email'], /--email needs a value/],
    'a value that is the next option': [plain, ['--email', '--plan', 'pro'], /--email needs a value/],
    'a switch with a value': [plain, ['--email', 'x', '--loud=yes'], /--loud takes no value/],
    'an option given twice': [plain, ['--email', 'x', '--email', 'y'], /--email is given twice/],
    'an operand too many': [plain, ['--email', 'x', 'more'], /Unexpected argument "more"/],
    'an operand that is absent': [withOperand, [], /Missing URL/],
  }
  for (const [name, [command, args, words]] of Object.entries(refused)) {
    it(`refuses ${name}`, () => {
      assert.throws(
        () => parseArguments(command, args),
        (error: unknown) => error instanceof UsageError && words.test(error.message),
      )
    })
  }
})

describe('the command line', () => {
  const { printed, refused, wrong } = testCommands({})

  it('has a help for every command, with every option', async () => {
    const all = await printed('--help')
    for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
      assert(all.includes(`  ${name} `) && all.includes(summary), name)
      const command = await load()
      const text = commandHelp(name, command)
      assert.match(text, new RegExp(`^Usage: prepaint ${name}`))
      for (const option of ['json', 'help', ...Object.keys(command.options)]) {
        assert.ok(text.includes(`--${option}`), `${name}: --${option}`)
      }
    }
  })

  it('shows help without reading the settings, which may be what has to be mended', async () =>
    assert.match(await printed('key create --help', { PREPAINT_ROLES: 'nonsense' }), /--expires ISO/))

  it('ends with 2 when the command line is wrong, with 1 when the settings are, without their secrets', async () => {
    await wrong('frobnicate', /^Unknown command "frobnicate"/)
    await wrong('account', /account create/)
    await wrong('account destroy', /^Unknown command "account destroy"/)
    await wrong('migrate --force', /^Unknown option --force/)
    const both = { PREPAINT_ROLES: 'cook', PREPAINT_API_PORT: 'x' }
    await refused('migrate', /PREPAINT_ROLES.*PREPAINT_API_PORT|PREPAINT_API_PORT.*PREPAINT_ROLES/, both)
    const secret = { DATABASE_URL: 'mysql://user:secret@localhost/x' }
    await refused('migrate', /^((?!secret).)*DATABASE_URL((?!secret).)*$/s, secret)
  })
})

it('aligns columns, numbers to the right', () => {
  const columns = [{ heading: 'id', right: true }, 'name', 'plan'] as const
  const rows = [
    ['1', 'short', 'pro'],
    ['12', 'rather long', ''],
  ]
  assert.equal(
    table(columns, rows, 'none'),
    ['id  name         plan', ' 1  short        pro', '12  rather long'].join('\n'),
  )
})

it('says that there is nothing', () => assert.equal(table(['name'], [], 'No keys yet.'), 'No keys yet.'))

it('lets no name that a customer chose move the cursor', () => {
  assert.doesNotMatch(table(['name'], [['a\u001b[2Jb\u202ec']], ''), /[\u001b\u202e]/)
  assert.equal(fields([['name', 'a\nb']]), 'name  a?b')
})
