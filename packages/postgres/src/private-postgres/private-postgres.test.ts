import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { canTraverse, databaseUser, ownUid } from '@prepaint/runtime/system-user.ts'
import {
  openTestProcess,
  removeDataDir,
  startTestProcess,
  testDataDir,
} from '../../../../test/support/database-process.ts'
import { type Database, openDatabase } from '../database.ts'
import { readPidFile } from './owner-lock.ts'

const open = (dataDir: string, lines: string[] = []): Promise<Database> =>
  openDatabase({ databaseUrl: null, dataDir, log: silentLog(), onLongStep: (line) => lines.push(line) })

/** Of the server's process. */
const uidIn = (dataDir: string) =>
  statSync(`/proc/${readPidFile(path.join(dataDir, 'postgres/data'))?.pid}`).uid

describe('the private PostgreSQL', () => {
  const lines: string[] = []
  let database: Database
  before(async () => {
    database = await open(dataDir, lines)
  })
  after(() => database.close())
  const dataDir = testDataDir()

  it('says that the first start creates the database, never runs as root, and listens on no port', async () => {
    assert.deepEqual(lines, ['Creating the database (first start) ...'])
    assert.notEqual(uidIn(dataDir), 0)
    assert.equal(uidIn(dataDir), databaseUser()?.uid ?? ownUid())
    const { rows } = await database.pool.query('show listen_addresses')
    assert.deepEqual(rows, [{ listen_addresses: '' }])
  })

  it('can be reached by nobody else: home, data, socket and its directory are the owner’s alone', () => {
    for (const name of ['.', 'data', 'socket', 'socket/.s.PGSQL.5432', 'owner.lock']) {
      assert.equal(statSync(path.join(dataDir, 'postgres', name)).mode & 0o077, 0, name)
    }
  })

  if (ownUid() === 0) {
    it('shuts out another user, who could otherwise connect without a password', () => {
      const socket = path.join(dataDir, 'postgres/socket/.s.PGSQL.5432')
      const connect = `require('net').connect(${JSON.stringify(socket)}).on('error', (e) => console.log(e.code)).on('connect', function () { console.log('in'); this.end() })`
      const tryAs = (uid: number) =>
        execFileSync(process.execPath, ['-e', connect], { uid, gid: uid, cwd: '/', encoding: 'utf8' }).trim()
      if (canTraverse(path.dirname(process.execPath), { uid: 65_432, gid: 65_432 })) {
        assert.equal(tryAs(65_432), 'EACCES')
      }
      assert.equal(tryAs(0), 'in')
    })
  }

  it('has one order, one encoding and one time zone on every machine', async () => {
    const { rows } = await database.pool.query(
      `select datcollate, datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding,
              current_setting('timezone') as timezone
         from pg_database where datname = current_database()`,
    )
    assert.deepEqual(rows, [
      { datcollate: 'C.UTF-8', datlocprovider: 'b', datlocale: 'C.UTF-8', encoding: 'UTF8', timezone: 'UTC' },
    ])
  })

  it('refuses a data directory of another major version, and says what to do', async () => {
    await database.close()
    const file = path.join(dataDir, 'postgres/data/PG_VERSION')
    const major = readFileSync(file, 'utf8')
    writeFileSync(file, '17\n')
    const message = /was created by PostgreSQL 17, and this Prepaint contains PostgreSQL 18/
    await assert.rejects(open(dataDir), { name: 'DatabaseError', message })
    writeFileSync(file, major)
    // The refusal left nothing locked.
    database = await open(dataDir)
  })
})

describe('awkward data directories', () => {
  it('deep, with blanks, quotes and commas: the socket moves to a short place and back out of it', async () => {
    const dataDir = testDataDir()
    const deep = path.join(dataDir, 'a, "b" \'c\' %2f é', 'd'.repeat(120))
    const database = await open(deep)
    const host = String(database.connection.host)
    assert(!host.startsWith(dataDir) && Buffer.byteLength(`${host}/.s.PGSQL.5432`) <= 107, host)
    assert.equal(statSync(host).mode & 0o777, 0o700)
    assert.deepEqual((await database.pool.query('select 1 as one')).rows, [{ one: 1 }])
    const command = await openTestProcess(deep, { attach: true })
    assert.equal(command.host, host)
    await command.close()
    await database.close()
    assert(!existsSync(host))
  })

  it('a file where the directory should be: says so', async () => {
    const file = path.join(testDataDir(), 'file')
    writeFileSync(file, '')
    await assert.rejects(open(file), /The data directory .*file cannot be used: .*PREPAINT_DATA_DIR/)
  })

  if (ownUid() === 0) {
    const user = { uid: 54_321, gid: 54_321 }

    it('under a parent that only root can enter: lives elsewhere, with a link to it, and is found again', async () => {
      const parent = testDataDir()
      chmodSync(parent, 0o700)
      const dataDir = path.join(parent, 'clone', '.prepaint')
      const first = await open(dataDir)
      await first.pool.query('create table kept (n integer)')
      await first.close()
      const link = path.join(dataDir, 'postgres')
      assert(lstatSync(link).isSymbolicLink())
      assert.match(realpathSync(link), /^\/var\/lib\/prepaint\/[0-9a-f]{12}\/postgres$/)
      assert.equal(statSync(link).mode & 0o777, 0o700)

      // Opened up later, the database does not move: that would be an empty one.
      chmodSync(parent, 0o711)
      const second = await open(dataDir)
      assert.equal((await second.pool.query('select from kept')).rowCount, 0)
      await second.close()
      removeDataDir(dataDir)

      mkdirSync(dataDir, { recursive: true })
      execFileSync('ln', ['-s', '/var/lib/prepaint/000000000000/postgres', link])
      await assert.rejects(open(dataDir), /links to the database in .* which is gone/)
    })

    if (canTraverse(import.meta.dirname, user)) {
      const refusal = async (dataDir: string, uid: number) => {
        const end = await startTestProcess(dataDir, { user: { uid, gid: uid } }).nextEnd()
        return end.event === 'refused' ? end.message : end.event
      }

      it('a user without an entry in /etc/passwd is told to set DATABASE_URL', async () => {
        const told = await refusal(testDataDir(user), user.uid)
        assert.match(told, /user without an entry in \/etc\/passwd.*DATABASE_URL/)
      })

      it('an ordinary user serves from his own directory, and is told when it is somebody else’s', async () => {
        const nobody = { uid: 65_534, gid: 65_534 }
        const dataDir = testDataDir(nobody)
        const child = await openTestProcess(dataDir, { user: nobody })
        assert.deepEqual(await child.query('select 1 as one'), [{ one: 1 }])
        await child.close()
        execFileSync('chown', ['-R', '0:0', dataDir])
        assert.match(await refusal(dataDir, nobody.uid), /belongs to the user with id 0/)
      })
    }
  }
})
