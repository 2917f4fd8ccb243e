import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { until } from '../../../../test/support/condition.ts'
import { clearDataDir, makeDataDir, testChromium } from '../../../../test/support/data-dir.ts'
import { processesOf } from '../../../../test/support/processes.ts'
import { SelectorBrowser } from './selector-browser.ts'

const dataDir = makeDataDir()
after(async () => {
  assert.deepEqual(await clearDataDir(dataDir), [], 'no process is left')
})

function open(t: { after(end: () => unknown): void }, idleMs?: number): SelectorBrowser {
  const browser = new SelectorBrowser({ chromium: testChromium, dataDir, idleMs })
  t.after(() => browser.close())
  return browser
}

const refused = async (browser: SelectorBrowser, selectors: readonly string[]) =>
  (await browser.checkSelectors(selectors)).map(({ selector }) => selector)

describe('a browser for selectors', () => {
  it('refuses what Chromium throws at, and takes what it reads leniently', async (t) => {
    const browser = open(t)
    assert.equal(browser.isAwake, false, 'it starts on demand')
    const good = [':is(.a, :unknown)', '.x:where(.a,)', '[href="x', 'p:is(.a', 'a:-webkit-any-link', '#price']
    const bad = ['video:playing', ':paused', ':buffering', 'a[x~=y s]', '..a', 'a,']
    assert.deepEqual(await refused(browser, [...good, ...bad]), bad)
    assert.equal(browser.isAwake, true)
  })

  it('takes selectors as data: quotes, line ends and closing brackets end nothing', async (t) => {
    const hostile = ['"])(window.x = 1)//', '\u2028a{', '`$(', "'); throw 1; ('", '*/ x /*', '</script>']
    assert.deepEqual(await refused(open(t), [...hostile, 'a']), hostile)
  })

  it('answers checks that overlap in the order in which they were asked', async (t) => {
    const browser = open(t)
    const answers = await Promise.all([['..a'], ['a'], ['..b', 'b']].map((asked) => refused(browser, asked)))
    assert.deepEqual(answers, [['..a'], [], ['..b']])
  })

  it('ends when it is idle, and starts again for the next check', async (t) => {
    const browser = open(t, 1)
    await browser.checkSelectors(['a'])
    await until('it has ended', () => !browser.isAwake && processesOf(dataDir).length === 0)
    assert.deepEqual(await refused(browser, ['..a']), ['..a'])
  })

  it('rejects if there is no browser, and after it was closed', async () => {
    const missing = new SelectorBrowser({ chromium: '/nowhere/chromium', dataDir })
    await assert.rejects(missing.checkSelectors(['a']), /is not a program that can be run/)
    await missing.close()
    await assert.rejects(missing.checkSelectors(['a']), /the program ends/)
  })
})
