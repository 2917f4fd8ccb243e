import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runJson, runPrepaint } from '../test/support/command-line.ts'
import { COMMANDS } from './cli/commands.ts'
import { commandHelp } from './command-line/run.ts'

describe('the command line', () => {
  it('has a help for every command, with every option', async () => {
    const { stdout } = await runPrepaint(['--help'], {})
    for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
      assert(stdout.includes(`  ${name} `) && stdout.includes(summary), name)
      const command = await load()
      const text = commandHelp(name, command)
      assert.match(text, new RegExp(`^Usage: prepaint ${name}`))
      for (const option of ['json', 'help', ...Object.keys(command.options)]) {
        assert.ok(text.includes(`--${option}`), `${name}: --${option}`)
      }
    }
  })

  it('shows help without reading the settings, which may be what has to be mended', async () => {
    const { code, stdout } = await runPrepaint(['key', 'create', '--help'], { PREPAINT_ROLES: 'nonsense' })
    assert.equal(code, 0)
    assert.match(stdout, /--expires ISO/)
  })

  it('ends with 2 when the command line is wrong, with 1 when the settings are', async () => {
    const wrong: [args: string[], words: RegExp][] = [
      [['frobnicate'], /Unknown command "frobnicate"/],
      [['account'], /account create/],
      [['account', 'destroy'], /Unknown command "account destroy"/],
      [['migrate', '--force'], /Unknown option --force/],
    ]
    await Promise.all(
      wrong.map(async ([args, words]) => {
        const { code, stdout, stderr } = await runPrepaint(args, {})
        assert.equal(code, 2, args.join(' '))
        assert.equal(stdout, '')
        assert.match(stderr, words)
      }),
    )
    const settings = await runPrepaint(['migrate'], { PREPAINT_ROLES: 'cook', PREPAINT_API_PORT: 'x' })
    assert.equal(settings.code, 1)
    assert.match(settings.stderr, /PREPAINT_ROLES.*PREPAINT_API_PORT|PREPAINT_API_PORT.*PREPAINT_ROLES/)
  })

  it('says errors as one object with --json', async () => {
    const unknown = await runJson(['frobnicate'], {})
    assert.equal(unknown.code, 2)
    assert.deepEqual(Object.keys(unknown.json), ['error'])
    const settings = await runJson(['migrate'], { DATABASE_URL: 'mysql://user:secret@localhost/x' })
    assert.equal(settings.code, 1)
    assert.match(String(settings.json['error']), /DATABASE_URL/)
    assert.doesNotMatch(String(settings.json['error']), /secret/)
  })
})
