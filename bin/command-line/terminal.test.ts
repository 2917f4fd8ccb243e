import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { openTestDatabase } from '../../test/support/database.ts'

const MAIN = path.join(import.meta.dirname, '../prepaint.ts')

const database = await openTestDatabase()

/** `script` (util-linux) gives the command a terminal of its own and shows here what appears on it. */
async function atTerminal(email: string, ...typed: string[]) {
  const command = `'${process.execPath}' '${MAIN}' account create --email ${email} --plan pro`
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', DATABASE_URL: database.url },
  })
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  // With all that was on the screen: at its `exit` the last of it may still be on its way.
  const closed = once(child, 'close')
  for (const [at, text] of typed.entries()) {
    await until(`question ${at + 1}`, () => screen.split(/none\): |Repeat it: /).length > at + 1)
    child.stdin.write(text)
  }
  const [code] = (await closed) as [number | null]
  return { code, screen }
}

const hasPassword = (email: string) =>
  database.column('select password_hash is not null from person where email = $1', email)

it('takes it twice and never shows it', async () => {
  const { code, screen } = await atTerminal('a@b.example', 'correct horse\r', 'correct horse\r')
  assert.equal(code, 0, screen)
  assert.doesNotMatch(screen, /correct|horse/)
  assert.deepEqual(await hasPassword('a@b.example'), [true])
})

it('creates nothing when the two differ, or at Ctrl-C', async () => {
  const differ = await atTerminal('c@b.example', 'correct horse\r', 'correct house\r')
  assert.equal(differ.code, 1)
  assert.match(differ.screen, /The two passwords differ/)
  const givenUp = await atTerminal('c@b.example', '\u0003')
  assert.equal(givenUp.code, 1)
  assert.match(givenUp.screen, /nothing was done/)
  assert.deepEqual(await hasPassword('c@b.example'), [])
})
