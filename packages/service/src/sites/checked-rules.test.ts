import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RULES_LIMIT_CHARS } from '@prepaint/contract/rules/schema.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import { checkedRules, checkedSettingsPatch } from './checked-rules.ts'

const problem = (rule: object) => problemsOf(checkedRules, [{ path: '/a', ...rule }])[0] ?? null

describe('rules that a client sends', () => {
  const limits: [name: string, rule: (size: number) => object, most: number][] = [
    ['nested :not()', (size) => ({ change: { remove: [`${':not('.repeat(size)}a${')'.repeat(size)}`] } }), 3],
    [':has()', (size) => ({ change: { remove: [':has(a)'.repeat(size)] } }), 1],
  ]
  for (const [name, rule, most] of limits) {
    it(`at most ${most} ${name} in a selector`, () => {
      assert.equal(problem(rule(most)), null)
      assert.notEqual(problem(rule(most + 1)), null)
    })
  }

  it('a selector that browsers refuse is named with its place', () => {
    const waiting = problem({ render: { wait_for: 'a >' } })
    assert.deepEqual(waiting?.path, [0, 'render', 'wait_for'])
    assert.match(waiting?.message ?? '', /^is not a CSS selector/)
    assert.deepEqual(problem({ change: { remove: ['a', '..b'] } })?.path, [0, 'change', 'remove', 1])
  })

  it('only the first selector that is refused is named, as reading them takes long', () => {
    const rules = [{ path: '/a', change: { remove: ['..a', '..b'] } }]
    assert.equal(problemsOf(checkedRules, rules).length, 1)
  })

  it('the size of all rules is checked before their selectors are read', () => {
    const remove = Array(50).fill('%'.repeat(500))
    const rules = Array(5).fill({ path: '/a', change: { remove } })
    const left = RULES_LIMIT_CHARS - JSON.stringify(rules).length
    assert(left > 0)
    const long = [...rules, ...Array(3).fill({ path: `/${'b'.repeat(2_000)}`, change: { remove } })]
    assert.deepEqual(problemsOf(checkedRules, long), [
      { path: [], message: `must have at most ${RULES_LIMIT_CHARS} characters as JSON` },
    ])
    assert.deepEqual(
      problemsOf(checkedSettingsPatch, { rules: long }).map(({ path }) => path),
      [['rules']],
    )
  })
})

it('settings that a client sends have the selectors of their rules checked', () => {
  const [found] = problemsOf(checkedSettingsPatch, { rules: [{ path: '/a', render: { wait_for: '..a' } }] })
  assert.deepEqual(found?.path, ['rules', 0, 'render', 'wait_for'])
})
