import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, it } from 'node:test'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import { openFolder } from '../../../../../test/support/folder.ts'
import { MasterKeyError, type MasterKeys, parseMasterKeys } from './master-key.ts'
import { accountPurpose, SealError, seal, unseal, Vault } from './vault.ts'

const database = await openTestDatabase()
const dataDir = openFolder()
const newKey = () => randomBytes(32).toString('base64')
const keysOf = (...texts: string[]): MasterKeys => {
  const keys = parseMasterKeys(texts.join(','))
  assert(keys !== null)
  return keys
}

describe('sealed values', () => {
  const keys = keysOf(newKey())
  const secret = Buffer.from('secret')

  it('open again, and are never twice the same', () => {
    const [one, two] = [seal(keys, 'p', secret), seal(keys, 'p', secret)]
    assert.notDeepEqual(one, two)
    assert.deepEqual(unseal(keys, 'p', one), secret)
    assert(!one.includes(secret))
  })

  it('do not open with another key, for another purpose, or changed in any byte', () => {
    const sealed = seal(keys, 'p', secret)
    assert.throws(() => unseal(keysOf(newKey()), 'p', sealed), /another master key/)
    assert.throws(() => unseal(keys, 'q', sealed), SealError)
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      assert.throws(() => unseal(keys, 'p', changed), SealError, `byte ${at}`)
      assert.throws(() => unseal(keys, 'p', sealed.subarray(0, at)), SealError, `cut at ${at}`)
    }
  })
})

describe('master keys', () => {
  it('are 32 bytes in base64, one or several', () => {
    const [one, two] = [newKey(), newKey()]
    assert.equal(parseMasterKeys(`${one},${two}`)?.length, 2)
    assert.equal(parseMasterKeys(` ${one}\n${two}\n`)?.length, 2)
    const sizes = [31, 33].map((bytes) => randomBytes(bytes).toString('base64'))
    for (const wrong of ['', 'abc', ...sizes, `${one},x`]) assert.equal(parseMasterKeys(wrong), null, wrong)
  })

  it('show nothing of themselves when printed', () => {
    const text = newKey()
    assert.doesNotMatch(JSON.stringify(keysOf(text)), new RegExp(text.slice(0, 10).replace(/[+/]/g, '.')))
  })
})

describe('the vault of a node', () => {
  beforeEach(async () => {
    await database.pool.query('truncate master_key, acme_account')
    rmSync(path.join(dataDir, 'secret-key'), { force: true })
  })
  const vault = (keys: MasterKeys | null = null, dir = dataDir) => new Vault(database.pool, dir, keys)
  const keep = async (from: ReturnType<typeof vault>, secret: string) =>
    database.pool.query(
      `insert into acme_account (directory, key_sealed) values ('d', $1)
       on conflict (directory) do update set key_sealed = excluded.key_sealed`,
      [await from.seal(accountPurpose('d'), Buffer.from(secret))],
    )
  const kept = async (by: ReturnType<typeof vault>) => {
    const { rows } = await database.pool.query<{ key_sealed: Buffer }>('select key_sealed from acme_account')
    return by.open(accountPurpose('d'), rows[0]!.key_sealed).toString()
  }

  it('makes a key file that only its owner reads when it is needed first, and goes on with it', async () => {
    const first = vault()
    assert.equal(await first.fits(), true)
    assert.equal(existsSync(path.join(dataDir, 'secret-key')), false)
    await keep(first, 'one')
    assert.equal(statSync(path.join(dataDir, 'secret-key')).mode & 0o777, 0o600)
    assert.equal(await kept(vault()), 'one')
    const text = readFileSync(path.join(dataDir, 'secret-key'), 'utf8').trim()
    assert.equal(await kept(vault(keysOf(text), '/nowhere')), 'one', 'the same key as a setting')
  })

  it('two that begin at once have one key', async () => {
    const [one, two] = [vault(), vault()]
    await Promise.all([one.admit(), two.admit()])
    await keep(one, 'same')
    assert.equal(await kept(two), 'same')
  })

  it('refuses a key file that others can read', async () => {
    await vault().admit()
    chmodSync(path.join(dataDir, 'secret-key'), 0o640)
    await assert.rejects(vault().admit(), /chmod 600/)
  })

  it('a node with another key says so, seals nothing, and makes no key of its own', async () => {
    await keep(vault(keysOf(newKey())), 'theirs')
    const stranger = vault()
    assert.equal(await stranger.fits(), false)
    await assert.rejects(stranger.admit(), /PREPAINT_SECRET_KEY/)
    await assert.rejects(stranger.seal('p', Buffer.of(1)), MasterKeyError)
    assert.equal(existsSync(path.join(dataDir, 'secret-key')), false)
    const other = vault(keysOf(newKey()))
    await assert.rejects(kept(other), SealError)
    // Also when nothing is sealed at the moment.
    await database.pool.query('truncate acme_account')
    await assert.rejects(other.admit(), MasterKeyError)
    assert.equal(await other.fits(), false)
  })

  it('a key is replaced: all is sealed anew with the first, and then the old one is needed no more', async () => {
    const [old, fresh] = [newKey(), newKey()]
    await keep(vault(keysOf(old)), 'moved')
    const both = vault(keysOf(fresh, old))
    assert.equal(await kept(both), 'moved')
    await both.admit()
    assert.equal(await kept(vault(keysOf(fresh))), 'moved')
    await assert.rejects(kept(vault(keysOf(old))), SealError)
    assert.equal(await vault(keysOf(old)).fits(), false)
  })
})
