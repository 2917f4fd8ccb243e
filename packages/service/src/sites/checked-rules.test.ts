import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccountId } from '@prepaint/contract/ids.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { type AskBrowser, SelectorCheck } from './checked-rules.ts'

const removing = (...remove: string[]) => ({ path: '/a', change: { remove } }) as unknown as Rule
const waitingFor = (selector: string) => ({ path: '/a', render: { wait_for: selector } }) as unknown as Rule

/** A browser that refuses some selectors and takes all others, with what it was asked. */
function browserRefusing(...bad: string[]) {
  const asked: (readonly string[])[] = []
  const ask: AskBrowser = async (selectors) => {
    asked.push(selectors)
    return selectors.filter((each) => bad.includes(each)).map((selector) => ({ selector, reason: 'bad' }))
  }
  return { asked, ask }
}

/** A check with the reasons for which it went without a browser. */
function checkBy(ask: AskBrowser | null, options?: { limitMs: number }) {
  const reasons: string[] = []
  const log = { warn: ({ err }: { err: Error }) => reasons.push(err.message) }
  return { reasons, check: new SelectorCheck(ask, log, options) }
}

describe('selectors of rules that a client sends', () => {
  const limits: [name: string, rule: (size: number) => Rule, most: number][] = [
    ['nested :not()', (size) => removing(`${':not('.repeat(size)}a${')'.repeat(size)}`), 3],
    ['nested :is() of which the last is open', (size) => removing(`${':is('.repeat(size)}a`), 3],
    [':has()', (size) => removing(':has(a)'.repeat(size)), 1],
  ]
  for (const [name, rule, most] of limits) {
    it(`have at most ${most} ${name}, whatever the browser takes`, async () => {
      const { ask, asked } = browserRefusing()
      const { check } = checkBy(ask)
      assert.equal(await check.firstProblem([rule(most)]), null)
      assert.match((await check.firstProblem([rule(most + 1)]))?.message ?? '', /^must /)
      assert.equal(asked.length, 1, 'the browser is not given what is past the limit')
    })
  }

  it('are refused or taken by the word of the browser, not of the grammar', async () => {
    const good = [':is(.a, :unknown)', '.x:where(.a,)', '[href="x', 'p:is(.a', 'a:-webkit-any-link']
    const { ask } = browserRefusing('#price')
    const { check } = checkBy(ask)
    assert.equal(await check.firstProblem([removing(...good)]), null)
    assert.deepEqual(await check.firstProblem([waitingFor('#price')], ['settings', 'rules']), {
      path: ['settings', 'rules', 0, 'render', 'wait_for'],
      message: 'is not a CSS selector',
    })
  })

  it('are named with their place and the reason of the grammar, the first of them only', async () => {
    const { check } = checkBy(browserRefusing('a,', '..b').ask)
    assert.deepEqual(await check.firstProblem([waitingFor('a'), removing('a', 'a,', '..b')], ['rules']), {
      path: ['rules', 1, 'change', 'remove', 1],
      message: 'is not a CSS selector: nothing after a comma',
    })
  })

  it('are asked about once for all rules, and each of them once', async () => {
    const { ask, asked } = browserRefusing()
    const { check } = checkBy(ask)
    await check.firstProblem([waitingFor('a'), removing('b', 'a'), removing('c')])
    assert.deepEqual(asked, [['a', 'b', 'c']])
  })

  it('need no browser where there are none', async () => {
    const { ask, asked } = browserRefusing()
    const { check } = checkBy(ask)
    assert.equal(await check.firstProblem([{ path: '/a', action: 'pass' } as unknown as Rule]), null)
    assert.deepEqual(asked, [])
  })

  for (const text of ['a\0b', '.\ud800', '.\udc00x']) {
    it(`are text that can be stored: not ${JSON.stringify(text)}`, async () => {
      const { check } = checkBy(browserRefusing().ask)
      assert.match((await check.firstProblem([removing(text)]))?.message ?? '', /^is not a CSS selector/)
    })
  }
})

describe('without a browser, a grammar decides about selectors', () => {
  const decidesByGrammar = async (check: SelectorCheck) => {
    assert.equal(await check.firstProblem([removing('#price', 'a > b')]), null)
    assert.match((await check.firstProblem([removing('video:playing')]))?.message ?? '', /:playing/)
  }

  it('if there is none to ask', async () => {
    const { check, reasons } = checkBy(null)
    await decidesByGrammar(check)
    assert.deepEqual(reasons, [])
  })

  it('if it does not start, which the log says', async () => {
    const { check, reasons } = checkBy(() => Promise.reject(new Error('no Chromium')))
    await decidesByGrammar(check)
    assert.deepEqual(reasons, ['no Chromium', 'no Chromium'])
  })

  it('if it does not answer in time, which the log says; what waited behind it is not asked any more', async () => {
    const { promise: held, resolve } = Promise.withResolvers<[]>()
    const asked: (readonly string[])[] = []
    const ask: AskBrowser = (selectors) => {
      asked.push(selectors)
      return held
    }
    const { check, reasons } = checkBy(ask, { limitMs: 50 })
    await Promise.all([check.firstProblem([removing('first')]), decidesByGrammar(check)])
    const late = 'no browser answered within 50 ms'
    assert.deepEqual(reasons, [late, late, late])
    resolve([])
    assert.equal(await check.firstProblem([removing('last')]), null)
    assert.deepEqual(asked, [['first'], ['last']])
  })
  it('accounts take turns: many saves of one of them do not come before a save of another', async () => {
    const asked: string[] = []
    const ask: AskBrowser = async ([selector]) => {
      asked.push(selector!)
      return []
    }
    const { check } = checkBy(ask)
    const save = (account: number, selector: string) =>
      check.firstProblem([removing(selector)], [], account as AccountId)
    await Promise.all([save(1, 'a1'), save(1, 'a2'), save(1, 'a3'), save(2, 'b1')])
    assert.deepEqual(asked, ['a1', 'a2', 'b1', 'a3'])
  })
})
