import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { pino } from 'pino'
import { insertDomain, openTestDatabase } from '../../../../test/support/database.ts'
import { openFolder } from '../../../../test/support/folder.ts'
import { parseMasterKeys } from '../certificates/vault/master-key.ts'
import { certificatePurpose, originHeadersPurpose, Vault } from '../certificates/vault/vault.ts'
import { createOpenOriginHeaders } from '../sites/origin-headers.ts'
import { databaseOf, EdgeSnapshot } from './edge-snapshot.ts'
import { removeSnapshot, snapshotPath } from './snapshot-file.ts'

const { pool } = await openTestDatabase()
const DATABASE = databaseOf({ host: 'db.example', port: 5432, database: 'prepaint' })
const HOUR_MS = 3_600_000
const key = (byte: number) => parseMasterKeys(Buffer.alloc(32, byte).toString('base64'))!

type Options = { database?: string; keyByte?: number; log?: ReturnType<typeof silentLog> }

function open(t: TestContext, dataDir: string, options: Options = {}) {
  const { database = DATABASE, keyByte = 7, log = silentLog() } = options
  let nowMs = Date.UTC(2026, 10, 28, 12)
  const vault = new Vault(pool, dataDir, key(keyByte))
  const openHeaders = createOpenOriginHeaders(vault, silentLog())
  const clock = { nowMs: () => nowMs }
  const snapshot = new EdgeSnapshot(database, { dataDir, vault, openHeaders, clock, log })
  t.after(() => snapshot.close())
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { snapshot, vault, wait }
}

async function written(snapshot: EdgeSnapshot): Promise<void> {
  snapshot.start(pool, () => true)
  await snapshot.write()
}

describe('the snapshot of domains', () => {
  it('gives a domain as PostgreSQL does, with its certificate and what its secrets hold; of others it has nothing', async (t) => {
    const dir = openFolder()
    const { snapshot, vault } = open(t, dir)
    const domain = await insertDomain(pool, 'red.example', { originUrl: 'https://o.example.com' })
    const settings = { cards: 'on', https_redirect: true }
    await pool.query('update domain set settings = $2 where id = $1', [domain, settings])
    const sealedKey = await vault.seal(certificatePurpose(domain), Buffer.from('a private key'))
    await pool.query(
      `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
       values ($1, 'own', 'CHAIN', $2, '2026-11-01Z', '2027-01-01T00:00:00.123Z')`,
      [domain, sealedKey],
    )
    const headers = [{ name: 'X-Let-In', value: 'a secret', for: 'all' }]
    const sealed = await vault.seal(originHeadersPurpose(domain), Buffer.from(JSON.stringify(headers)))
    await pool.query('insert into origin_header (domain_id, shown, key_sealed) values ($1, $2, $3)', [
      ...[domain, '[]', sealed],
    ])
    await pool.query(
      `insert into site_version (domain_id, kind, content, author)
       values ($1, 'redirects', '[{"from": "/a", "to": "/b", "status": 301}]', 'a test')`,
      [domain],
    )
    await written(snapshot)
    const found = snapshot.domain('red.example')!
    assert.deepEqual([found.id, found.originUrl, found.isActive], [domain, 'https://o.example.com', true])
    assert.deepEqual(found.originHeaders, ['X-Let-In', 'a secret'])
    assert.deepEqual([found.settings.cards, found.settings.https_redirect], ['on', true])
    assert.deepEqual(found.redirects, [{ from: '/a', to: '/b', status: 301 }])
    assert.equal(found.certificateEndsAtMs, Date.parse('2027-01-01T00:00:00.123Z'))
    const certificate = snapshot.certificate('red.example')!.certificate!
    assert.deepEqual([certificate.chain, certificate.notAfterMs], ['CHAIN', found.certificateEndsAtMs])
    assert.equal(String(vault.open(certificatePurpose(domain), certificate.keySealed)), 'a private key')
    assert.deepEqual(
      [snapshot.domain('nobody.example'), snapshot.certificate('nobody.example')],
      [null, null],
    )
    assert.deepEqual([snapshot.domains, snapshot.ageMs], [1, 0])
    assert(snapshot.bytes > 0)

    assert.equal(statSync(snapshotPath(dir)).mode & 0o777, 0o600)
    const bytes = Buffer.concat([readFileSync(snapshotPath(dir)), readFileSync(`${snapshotPath(dir)}-wal`)])
    for (const secret of ['a secret', 'a private key', 'red.example@example.com']) {
      assert(!bytes.includes(secret), `${secret} stands in the file`)
    }
    await pool.query('delete from domain')
  })

  it('follows notifications: new, changed and deleted hosts, and all domains of an account', async (t) => {
    const { snapshot } = open(t, openFolder())
    const first = await insertDomain(pool, 'first.example')
    await written(snapshot)
    await insertDomain(pool, 'second.example')
    await pool.query(`update account set suspended_at = now() where email like 'first%'`)
    snapshot.invalidate({ kind: 'host', host: 'second.example' })
    const [account] = (await pool.query('select account_id from domain where id = $1', [first])).rows
    snapshot.invalidate({ kind: 'account', account: account.account_id })
    await snapshot.write()
    assert.equal(snapshot.domains, 2)
    assert.equal(snapshot.domain('first.example')?.isActive, false)
    await pool.query('delete from domain')
    snapshot.invalidate({ kind: 'host', host: 'first.example' })
    await snapshot.write()
    assert.equal(snapshot.domain('first.example'), null)
    assert.notEqual(snapshot.domain('second.example'), null, 'nobody has told of it')
    snapshot.lost()
    await snapshot.write()
    assert.equal(snapshot.domains, 0)
  })

  it('is used by a start if it is not older than the limit, to the millisecond', async (t) => {
    const { snapshot, wait } = open(t, openFolder())
    assert.equal(snapshot.isUsable(24), false, 'it is not complete')
    await written(snapshot)
    wait(24 * HOUR_MS)
    assert.equal(snapshot.isUsable(24), true)
    wait(1)
    assert.equal(snapshot.isUsable(24), false)
  })

  it('is used again by the same database and key only; another one makes it anew', async (t) => {
    const dir = openFolder()
    await insertDomain(pool, 'kept.example')
    const first = open(t, dir)
    await written(first.snapshot)
    await first.snapshot.close()
    const again = open(t, dir).snapshot
    assert.equal(again.isUsable(24), true)
    assert.notEqual(again.domain('kept.example'), null)
    await again.close()
    for (const other of [{ database: 'another' }, { keyByte: 8 }]) {
      const { snapshot } = open(t, dir, other)
      assert.equal(snapshot.isUsable(24), false)
      assert.equal(snapshot.domain('kept.example'), null)
      await snapshot.close()
    }
    const { snapshot } = open(t, dir, { database: 'another' })
    await written(snapshot)
    assert.equal(snapshot.isUsable(24), true)
    await pool.query('delete from domain')
  })

  it('has its time in ISO 8601 with milliseconds, raised each minute while notifications arrive', async (t) => {
    const dir = openFolder()
    const { snapshot, wait } = open(t, dir)
    let isConnected = true
    snapshot.start(pool, () => isConnected)
    await snapshot.write()
    const about = () => {
      const database = new DatabaseSync(snapshotPath(dir), { readOnly: true })
      try {
        return { ...database.prepare('select * from about').get() }
      } finally {
        database.close()
      }
    }
    assert.deepEqual(about(), {
      format: 1,
      database: DATABASE,
      master_key: key(7)[0].id,
      as_of: '2026-11-28T12:00:00.000Z',
    })
    isConnected = false
    wait(60_000)
    await snapshot.write()
    assert.equal(snapshot.ageMs, 60_000)
    isConnected = true
    await snapshot.write()
    assert.equal(about()['as_of'], '2026-11-28T12:01:00.000Z')
  })

  it('an error of PostgreSQL leaves what was there, is logged once, and all domains are written when it is back', async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    const { snapshot } = open(t, openFolder(), { log })
    await insertDomain(pool, 'one.example')
    let fails = false
    const db = {
      query: ((...asked: [string]) =>
        fails ? Promise.reject(new Error('no')) : pool.query(...asked)) as typeof pool.query,
    }
    snapshot.start(db, () => true)
    await snapshot.write()
    fails = true
    await insertDomain(pool, 'two.example')
    for (let tries = 0; tries < 3; tries++) {
      snapshot.invalidate({ kind: 'host', host: 'two.example' })
      await snapshot.write()
    }
    assert.equal(snapshot.domains, 1)
    assert.equal(lines.filter((line) => line.includes('could not be written')).length, 1)
    fails = false
    await snapshot.write()
    assert.equal(snapshot.domains, 2)
    await pool.query('delete from domain')
  })
})

describe('a file that cannot be used', () => {
  it('a damaged file is set aside with one line that names file and reason, and made anew', async (t) => {
    const dir = openFolder()
    writeFileSync(snapshotPath(dir), 'no database '.repeat(1_000))
    const lines: Record<string, unknown>[] = []
    const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const { snapshot } = open(t, dir, { log })
    assert.equal(snapshot.isUsable(720), false)
    await written(snapshot)
    assert.equal(snapshot.isUsable(1), true)
    assert.match(readFileSync(`${snapshotPath(dir)}.damaged`, 'utf8'), /^no database/)
    assert.equal(lines.length, 1)
    assert.deepEqual([lines[0]!['level'], lines[0]!['file']], [40, snapshotPath(dir)])
    assert.match(String(lines[0]!['reason']), /not a database/)
    assert(!('err' in lines[0]!))
  })

  it('an empty file counts as none, and says nothing', async (t) => {
    const dir = openFolder()
    writeFileSync(snapshotPath(dir), '')
    const log = silentLog()
    log.warn = assert.fail
    const { snapshot } = open(t, dir, { log })
    assert.equal(snapshot.isUsable(720), false)
    await written(snapshot)
    assert.equal(snapshot.isUsable(1), true)
  })

  it('is removed with all that belongs to it', async (t) => {
    const dir = openFolder()
    const { snapshot } = open(t, dir)
    await written(snapshot)
    await snapshot.close()
    removeSnapshot(dir)
    for (const end of ['', '-wal', '-shm']) assert.equal(existsSync(`${snapshotPath(dir)}${end}`), false)
  })
})
