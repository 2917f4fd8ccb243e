import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkTokenOf, withCheckToken, withoutCheckToken } from './check-token.ts'
import { normalisePath } from './path.ts'

it('a token is added as the last parameter, found, and removed again', () => {
  for (const url of ['/', '/a?b=1', '/a?b=1&c', '/a%2Fb?c=d+e']) {
    const asked = withCheckToken(url, 'abc')
    assert.match(asked, /[?&]prepaint_check=abc$/)
    assert.equal(checkTokenOf(asked), 'abc')
    assert.equal(withoutCheckToken(asked), url)
    assert.equal(withCheckToken(asked, 'new').split('prepaint_check').length, 2)
  }
})

it('a token in another place of the query is removed as well', () => {
  assert.equal(withoutCheckToken('/a?prepaint_check=x&b=1'), '/a?b=1')
  assert.equal(withoutCheckToken('/a?b=1&prepaint_check=x&c=2'), '/a?b=1&c=2')
  assert.equal(checkTokenOf('/prepaint_check=x'), null)
  assert.equal(withoutCheckToken('/prepaint_check=x'), '/prepaint_check=x')
})

it('the parameter is never part of a stored path, whatever the owner says of queries', () => {
  for (const query of ['keep', 'ignore', ['prepaint_check']] as const) {
    assert.equal(normalisePath('/a?prepaint_check=x', query), '/a')
  }
})
