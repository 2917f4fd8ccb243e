import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { checksumOf } from '@prepaint/postgres/migrate.ts'
import { SCHEMA } from './schema.ts'

const packages = path.resolve(import.meta.dirname, '../../packages')
const inTree = (ending: string) => globSync(`*/src/**/*${ending}`, { cwd: packages }).sort()
const listed = (files: readonly string[]) => files.map((file) => path.relative(packages, file)).sort()

describe('the schema', () => {
  it('lists every file of tables and of functions that the packages have', () => {
    assert.ok(inTree('tables.sql').length > 10 && inTree('functions.sql').length > 5)
    assert.deepEqual(listed(SCHEMA.tables), inTree('tables.sql'))
    assert.deepEqual(listed(SCHEMA.functions.files), inTree('functions.sql'))
  })

  it('has the checksum of its functions, which changes together with their number', () => {
    assert.equal(
      SCHEMA.functions.checksum,
      checksumOf(SCHEMA.functions.files),
      'the functions have changed: raise their number in bin/node/schema.ts, and put this checksum there',
    )
  })
})
