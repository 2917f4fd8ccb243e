import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { createVault } from '../src/certificates/vault/vault.ts'
import { createTestCa } from '../test/support/certificate-authority.ts'
import { openTestDatabase } from '../test/support/database.ts'
import { openFolder } from '../test/support/folder.ts'
import { addTestDomain } from '../test/support/traffic.ts'
import { runCommandLine } from './command-line/run.ts'

const ca = createTestCa()
const database = await openTestDatabase()
const dir = openFolder()
await addTestDomain(database.pool, 'shop.example.com')

const run = async (args: string, dataDir = dir) => {
  const settings = { DATABASE_URL: database.url, PREPAINT_DATA_DIR: dataDir }
  const result = await runCommandLine([...args.split(' '), '--json'], settings)
  assert(result !== null)
  return result
}
const file = (name: string, text: string) => {
  writeFileSync(path.join(dir, name), text)
  return path.join(dir, name)
}

it('set, show, remove; what is wrong is said, and the key is shown nowhere', async () => {
  const { chain, key } = ca.leaf()
  const files = `--chain ${file('chain.pem', chain)} --key ${file('key.pem', key)}`
  const set = await run(`certificate set --domain shop.example.com ${files}`)
  assert.equal(set.exitCode ?? 0, 0, JSON.stringify(set.json))
  const shown = await run('certificate show --domain shop.example.com')
  assert.deepEqual(shown.json, set.json)
  assert.match(shown.text, /supplied by the owner/)
  assert.match(shown.text, /next order +none: your own certificate is used/)
  assert.doesNotMatch(JSON.stringify(set), /PRIVATE/)
  assert.match((await run('domain list')).text, /in use/)

  const other = file('other.pem', ca.leaf().key)
  const wrong = await run(`certificate set --domain shop.example.com --chain ${dir}/chain.pem --key ${other}`)
  assert.equal(wrong.exitCode, 1)
  assert.match(String(wrong.json['error']), /private_key is not the key/)

  assert.match((await run('certificate remove --domain shop.example.com')).text, /no longer used/)
  const none = await run('certificate remove --domain shop.example.com')
  assert.match(String(none.json['error']), /Certificate not found/)
  const unknown = await run('certificate show --domain nobody.example.com')
  assert.match(String(unknown.json['error']), /Domain not found/)
})

it('forget: the way out where the master key is lost, and only there', async () => {
  const { chain, key } = ca.leaf()
  const set = `certificate set --domain shop.example.com --chain ${file('c.pem', chain)} --key ${file('k.pem', key)}`
  await run(set)
  const elsewhere = path.join(dir, 'elsewhere')
  const { pool } = database
  const seal = (dataDir: string) =>
    createVault({ pool, keys: null, dataDir }).seal('a test', Buffer.from('secret'))
  await seal(dir)

  for (const [args, dataDir, words] of [
    ['certificate forget --lost-key', dir, /nothing is lost/],
    ['certificate forget', elsewhere, /then add --lost-key/],
    [set, elsewhere, /Certificates cannot be stored at this node/],
  ] as const) {
    assert.match(String((await run(args, dataDir)).json['error']), words)
  }
  await assert.rejects(seal(elsewhere))
  assert.match((await run('certificate show --domain shop.example.com')).text, /supplied by the owner/)

  const forgotten = await run('certificate forget --lost-key', elsewhere)
  assert.deepEqual(forgotten.json, { ordered: [], supplied: ['shop.example.com'] })
  assert.match(forgotten.text, /Owners must supply these again: shop\.example\.com\./)
  await seal(elsewhere)
  assert.equal((await run(set, elsewhere)).exitCode ?? 0, 0)
  const { rows } = await pool.query('select next_at > now() as later from certificate_order')
  assert.deepEqual(rows, [{ later: true }])
  assert.match(
    String((await run('certificate forget --lost-key', elsewhere)).json['error']),
    /nothing is lost/,
  )
})
