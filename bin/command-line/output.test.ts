import assert from 'node:assert/strict'
import { it } from 'node:test'
import { fields, table } from './output.ts'

it('aligns columns, numbers to the right', () => {
  const columns = [{ heading: 'id', right: true }, 'name', 'plan'] as const
  const rows = [
    ['1', 'short', 'pro'],
    ['12', 'rather long', ''],
  ]
  assert.equal(
    table(columns, rows, 'none'),
    ['id  name         plan', ' 1  short        pro', '12  rather long'].join('\n'),
  )
})

it('says that there is nothing', () => assert.equal(table(['name'], [], 'No keys yet.'), 'No keys yet.'))

it('lets no name that a customer chose move the cursor', () => {
  assert.doesNotMatch(table(['name'], [['a\u001b[2Jb\u202ec']], ''), /[\u001b\u202e]/)
  assert.equal(fields([['name', 'a\nb']]), 'name  a?b')
})
