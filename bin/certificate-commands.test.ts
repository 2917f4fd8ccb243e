import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'

import { createTestCa } from '../src/certificates/test-ca.ts'
import { type TestDatabase, testDatabase } from '../src/db/test-database.ts'
import { runCommandLine } from './run-command-line.ts'

describe('certificate commands', () => {
  let database: TestDatabase
  let dir: string
  const ca = createTestCa()
  before(async () => {
    database = await testDatabase()
    dir = mkdtempSync(path.join(tmpdir(), 'prepaint-certificates-'))
    await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
    await database.pool.query(
      `insert into domain (account_id, custom_domain, origin_url) values (1, 'shop.example.com', 'https://o.example')`,
    )
  })
  after(async () => {
    rmSync(dir, { recursive: true })
    await database.close()
  })

  const run = async (args: string) => {
    const settings = { DATABASE_URL: database.url, PREPAINT_DATA_DIR: dir }
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
    assert.doesNotMatch(JSON.stringify(set), /PRIVATE/)
    assert.match(readFileSync(path.join(dir, 'secret-key'), 'utf8'), /^[\w+/]{43}=\n$/)
    const list = await run('domain list')
    assert.match(list.text, /certificate/)
    assert.match(list.text, /in use/)

    const other = file('other.pem', ca.leaf().key)
    const wrong = await run(
      `certificate set --domain shop.example.com --chain ${dir}/chain.pem --key ${other}`,
    )
    assert.equal(wrong.exitCode, 1)
    assert.match(String(wrong.json['error']), /private_key is not the key/)
    const missing = await run('certificate set --domain shop.example.com --chain /none --key /none')
    assert.match(String(missing.json['error']), /\/none cannot be read/)

    assert.match((await run('certificate remove --domain shop.example.com')).text, /out of use/)
    const none = await run('certificate remove --domain shop.example.com')
    assert.match(String(none.json['error']), /Certificate not found/)
    const unknown = await run('certificate show --domain nobody.example.com')
    assert.match(String(unknown.json['error']), /Domain not found/)
  })
})
