import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import {
  killTestProcesses,
  processesIn,
  removeDataDir,
  startTestProcess,
  testDataDir,
} from '../../../test/support/database-process.ts'
import { silentLog } from '../../log.ts'
import { canTraverse, databaseUser, ownUid } from '../../system-user.ts'
import { type Database, openDatabase } from '../database.ts'

afterEach(killTestProcesses)

const open = (dataDir: string, lines: string[] = []): Promise<Database> =>
  openDatabase({ databaseUrl: null, dataDir, log: silentLog(), onLongStep: (line) => lines.push(line) })

const pidIn = (dataDir: string) =>
  Number(readFileSync(path.join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])

describe('the private PostgreSQL', () => {
  const dataDir = testDataDir()
  const lines: string[] = []
  let database: Database

  before(async () => {
    database = await open(dataDir, lines)
  })
  after(async () => {
    await database.close()
    await until('closing leaves no process', () => processesIn(realpathSync(dataDir)).length === 0)
    removeDataDir(dataDir)
  })

  it('says that the first start creates the database, and never runs as root', () => {
    assert.deepEqual(lines, ['Creating the database (first start) ...'])
    assert.notEqual(statSync(`/proc/${pidIn(dataDir)}`).uid, 0)
    assert.equal(statSync(`/proc/${pidIn(dataDir)}`).uid, databaseUser()?.uid ?? ownUid())
  })

  it('listens on no port', async () => {
    const { rows } = await database.pool.query('show listen_addresses')
    assert.deepEqual(rows, [{ listen_addresses: '' }])
    const own = readdirSync(`/proc/${pidIn(dataDir)}/fd`)
      .map((fd) => readlinkSync(`/proc/${pidIn(dataDir)}/fd/${fd}`))
      .flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [])
    const inodes = (table: string, column: number) => {
      const lines = readFileSync(`/proc/net/${table}`, 'utf8').split('\n')
      const all = new Set(lines.map((line) => line.trim().split(/\s+/)[column]))
      return own.filter((inode) => all.has(inode))
    }
    assert.notDeepEqual(inodes('unix', 6), [], 'its Unix socket is found in this way')
    assert.deepEqual([...inodes('tcp', 9), ...inodes('tcp6', 9)], [])
  })

  it('can be reached by nobody else: home, data, socket and its directory are the owner’s alone', () => {
    const home = path.join(dataDir, 'postgres')
    for (const name of ['.', 'data', 'socket', 'socket/.s.PGSQL.5432', 'owner.lock']) {
      assert.equal(statSync(path.join(home, name)).mode & 0o077, 0, name)
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

  it('keeps what was stored over a restart, and starts quietly the second time', async () => {
    await database.pool.query('create table kept (n integer); insert into kept values (7)')
    await database.close()
    const again: string[] = []
    database = await open(dataDir, again)
    assert.deepEqual((await database.pool.query('select n from kept')).rows, [{ n: 7 }])
    assert.deepEqual(again, [])
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

    const command = startTestProcess(deep, { attach: true })
    assert.equal((await command.next('open')).host, host)
    await command.close()
    await database.close()
    assert(!existsSync(host))
    removeDataDir(dataDir)
  })

  it('a file where the directory should be: says so', async () => {
    const dataDir = testDataDir()
    const file = path.join(dataDir, 'file')
    writeFileSync(file, '')
    await assert.rejects(open(file), /The data directory .*file cannot be used: .*PREPAINT_DATA_DIR/)
    removeDataDir(dataDir)
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
      removeDataDir(parent)
    })

    it('of an ordinary user, opened by root: runs as that user, who can go on afterwards', async () => {
      const dataDir = testDataDir(user)
      // A user without a passwd entry could not run initdb: root makes it, and gives it away.
      const database = await open(dataDir)
      await database.close()
      execFileSync('chown', ['-R', '65534:65534', dataDir])
      const again = await open(dataDir)
      const home = path.join(dataDir, 'postgres')
      assert.equal(statSync(`/proc/${pidIn(dataDir)}`).uid, 65_534)
      await again.close()
      const strangers = execFileSync('find', [home, '!', '-uid', '65534'], { encoding: 'utf8' })
      assert.equal(strangers, '')
      removeDataDir(dataDir)
    })

    if (canTraverse(import.meta.dirname, user)) {
      it('a user without an entry in /etc/passwd is told to set DATABASE_URL', async () => {
        const dataDir = testDataDir(user)
        const child = startTestProcess(dataDir, { user })
        const end = await child.nextEnd()
        const told = end.event === 'refused' ? end.message : ''
        assert.match(told, /user without an entry in \/etc\/passwd.*DATABASE_URL/)
        removeDataDir(dataDir)
      })

      it('an ordinary user serves from his own directory, and is told when it is somebody else’s', async () => {
        const nobody = { uid: 65_534, gid: 65_534 }
        const dataDir = testDataDir(nobody)
        const child = startTestProcess(dataDir, { user: nobody })
        await child.next('open')
        assert.deepEqual(await child.query('select 1 as one'), [{ one: 1 }])
        await child.close()

        execFileSync('chown', ['-R', '0:0', dataDir])
        const refused = startTestProcess(dataDir, { user: nobody })
        const end = await refused.nextEnd()
        assert.match(end.event === 'refused' ? end.message : '', /belongs to the user with id 0/)
        await until('nothing is left', () => processesIn(dataDir).length === 0)
        removeDataDir(dataDir)
      })
    }
  }
})
