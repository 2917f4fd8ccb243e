import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { databaseUser, type SystemUser } from '@prepaint/runtime/system-user.ts'
import { until } from '../../../../test/support/condition.ts'
import {
  openTestProcess,
  processesIn,
  startTestProcess,
  testDataDir,
} from '../../../../test/support/database-process.ts'
import { findBinaries, preparedBinaries } from './binaries.ts'
import { takeOwnerLock } from './owner-lock.ts'

const dataDir = testDataDir()

describe('one data directory, several processes', () => {
  it('nodes that start at the same moment on an empty directory: one serves, the others are refused', async () => {
    const nodes = [1, 2, 3].map(() => startTestProcess(dataDir))
    const ends = await Promise.all(nodes.map((node) => node.nextEnd()))
    const winner = nodes[ends.findIndex(({ event }) => event === 'open')]
    const refused = ends.flatMap((end) => (end.event === 'refused' ? [end] : []))
    assert(winner !== undefined && refused.length === 2, JSON.stringify(ends))
    for (const { message } of refused) {
      assert(message.includes(`The data directory ${dataDir} is in use by another Prepaint`), message)
      assert(message.includes(`process ${winner.pid} on `), message)
    }
    assert.deepEqual(await winner.query('select 1 as one'), [{ one: 1 }])
    await winner.close()
    await (await openTestProcess(dataDir)).close()
  })

  it('a command beside a node uses its PostgreSQL, and leaves it running', async () => {
    const node = await openTestProcess(dataDir)
    const command = await openTestProcess(dataDir, { attach: true })
    assert.equal(command.host, node.host)
    await command.query('create table seen as select 3 as n')
    await command.close()
    assert.deepEqual(await node.query('select n from seen'), [{ n: 3 }])
    await node.close()
  })

  it('a command alone starts PostgreSQL for its own life; a node that comes meanwhile waits', async () => {
    const command = await openTestProcess(dataDir, { attach: true })
    const node = startTestProcess(dataDir)
    assert.match((await node.next('step')).line, /^Waiting for another process/)
    await command.close()
    await node.next('open')
    assert.deepEqual(await node.query('select 4 as four'), [{ four: 4 }])
    await node.close()
  })

  it('the command that started PostgreSQL does not stop it under another that uses it', async () => {
    const first = await openTestProcess(dataDir, { attach: true })
    const second = await openTestProcess(dataDir, { attach: true })
    const closing = first.close()
    // Long enough that the first would have stopped it, were it not waiting.
    assert.deepEqual(await second.query('select 5 as five from pg_sleep(0.5)'), [{ five: 5 }])
    await second.close()
    await closing
    await until('no process is left', () => processesIn(dataDir).length === 0)
  })
})

it('the owner lock follows no link: the directory may belong to somebody less trusted than we', () => {
  const dir = testDataDir()
  const [target, link] = [path.join(dir, 'target'), path.join(dir, 'owner.lock')]
  writeFileSync(target, 'precious')
  symlinkSync(target, link)
  assert.throws(() => takeOwnerLock(link, 'node', null), /ELOOP/)
  assert.equal(readFileSync(target, 'utf8'), 'precious')
})

describe('the binaries of PostgreSQL', () => {
  const lines: string[] = []
  const onLongStep = (line: string) => void lines.push(line)
  function versionSaid(native: string, user: SystemUser): string {
    const options = { ...user, cwd: '/', env: {}, stdio: 'pipe', encoding: 'utf8' } as const
    return execFileSync(path.join(native, 'bin/postgres'), ['--version'], options)
  }

  function copyOfPackage(dir: string): string {
    const { postgres } = findBinaries({ user: null, copyTo: dir, onLongStep })
    const target = path.join(dir, 'native')
    execFileSync('cp', ['-R', path.resolve(postgres, '../..'), target])
    return target
  }

  it('the binaries get their links, which npm without scripts leaves out', () => {
    const dir = testDataDir()
    const native = copyOfPackage(dir)
    execFileSync('find', [path.join(native, 'lib'), '-type', 'l', '-delete'])
    assert.throws(() => versionSaid(native, null), /cannot open shared object file/)
    assert.equal(preparedBinaries({ native, version: '1' }, { user: null, copyTo: dir, onLongStep }), native)
    assert.match(versionSaid(native, null), /PostgreSQL/)
  })

  const user = databaseUser()
  if (user !== null) {
    it('the binaries are copied once if their user cannot reach them, and copies of other versions are removed', () => {
      const dir = testDataDir()
      const native = copyOfPackage(dir)
      execFileSync('chmod', ['-R', 'go-rwx', native])
      const copyTo = path.join(dir, 'home')
      mkdirSync(copyTo)
      const options = { user, copyTo, onLongStep }
      lines.length = 0
      preparedBinaries({ native, version: '1' }, options)
      preparedBinaries({ native, version: '1' }, options)
      assert.deepEqual(lines, [
        `Copying PostgreSQL to ${copyTo}/postgresql-1, where its user can reach it ...`,
      ])
      const copy = preparedBinaries({ native, version: '2' }, options)
      assert.equal(copy, path.join(copyTo, 'postgresql-2'))
      assert.deepEqual(readdirSync(copyTo), ['postgresql-2'])
      assert.match(versionSaid(copy, user), /PostgreSQL/)
      // The user who runs them must not be able to change them.
      assert.equal(statSync(path.join(copy, 'bin/postgres')).uid, 0)
    })
  }
})
