import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { removeDataDir, testDataDir } from '../../../test/support/database-process.ts'
import { databaseUser } from '../../system-user.ts'
import { findBinaries, preparedBinaries } from './binaries.ts'

const lines: string[] = []
const onLongStep = (line: string) => void lines.push(line)

describe('the binaries of PostgreSQL', () => {
  it('are those that npm installed, and run', () => {
    const dir = testDataDir()
    const { postgres, initdb, major } = findBinaries({ user: databaseUser(), copyTo: dir, onLongStep })
    assert(existsSync(postgres) && existsSync(initdb))
    assert.equal(major, 18)
    removeDataDir(dir)
  })

  it('get their links, which npm without scripts leaves out', () => {
    const dir = testDataDir()
    const native = copyOfPackage(dir)
    const lib = path.join(native, 'lib')
    execFileSync('find', [lib, '-type', 'l', '-delete'])
    const run = () =>
      execFileSync(path.join(native, 'bin/postgres'), ['--version'], { stdio: 'pipe', env: {} })
    assert.throws(run, /cannot open shared object file/)
    assert.equal(preparedBinaries({ native, version: '1' }, { user: null, copyTo: dir, onLongStep }), native)
    assert.match(run().toString(), /PostgreSQL/)
    removeDataDir(dir)
  })

  const user = databaseUser()
  if (user !== null) {
    it('are copied, once, when their user cannot reach them, and the copies of other versions go', () => {
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
      const said = execFileSync(path.join(copy, 'bin/postgres'), ['--version'], {
        ...user,
        cwd: '/',
        env: {},
      })
      assert.match(said.toString(), /PostgreSQL/)
      // The user who runs them must not be able to change them.
      assert.equal(statSync(path.join(copy, 'bin/postgres')).uid, 0)
      removeDataDir(dir)
    })
  }
})

function copyOfPackage(dir: string): string {
  const { postgres } = findBinaries({ user: null, copyTo: dir, onLongStep })
  const native = path.resolve(postgres, '../..')
  const target = path.join(dir, 'package', 'native')
  mkdirSync(path.dirname(target))
  execFileSync('cp', ['-R', native, target])
  return target
}
