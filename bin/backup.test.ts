import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { openTestDatabase } from '../test/support/database.ts'
import { openFolder } from '../test/support/folder.ts'
import { addTestDomain } from '../test/support/traffic.ts'
import { runCommandLine } from './command-line/run.ts'

const folder = openFolder()
const [full, empty] = [await openTestDatabase(), await openTestDatabase({ empty: true })]

const command = async (name: 'backup' | 'restore', file: string, { url }: { url: string }) => {
  const settings = { DATABASE_URL: url, PREPAINT_DATA_DIR: folder }
  const result = await runCommandLine([name, file, '--json'], settings)
  return { code: result?.exitCode ?? 0, json: result?.json }
}

// Proves decided "Backup"
it('a backup holds what was there, for its owner alone; a file that is damaged leaves the database empty', async () => {
  await addTestDomain(full.pool, 'kept.example')
  const file = path.join(folder, 'all.backup')
  const made = await command('backup', file, full)
  assert.equal(made.code, 0, JSON.stringify(made.json))
  assert.equal(statSync(file).mode & 0o777, 0o600)

  const whole = readFileSync(file)
  const changed = Buffer.from(whole)
  changed[Math.floor(changed.length / 2)]! ^= 0xff
  const broken = path.join(folder, 'broken')
  for (const [content, words] of [
    [null, /cannot be read as a backup: ENOENT/],
    [whole.subarray(0, whole.length - 100), /cannot be read|is incomplete/],
    [changed, /cannot be read|damaged|invalid|is incomplete/],
    ['no backup', /cannot be read as a backup/],
  ] as const) {
    if (content !== null) writeFileSync(broken, content)
    const refused = await command('restore', broken, empty)
    assert.equal(refused.code, 1)
    assert.match(String(refused.json?.['error']), words)
  }

  const restored = await command('restore', file, empty)
  assert.equal(restored.code, 0, JSON.stringify(restored.json))
  // What is new gets numbers that were not given before.
  await addTestDomain(empty.pool, 'new.example')
  const { rows } = await empty.pool.query('select custom_domain from domain order by id')
  assert.deepEqual(rows, [{ custom_domain: 'kept.example' }, { custom_domain: 'new.example' }])
})
