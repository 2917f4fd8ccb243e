import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { makeDataDir, removeDir, testChromium } from '../../../test/support/data-dir.ts'
import { serve } from '../../../test/support/loopback.ts'
import { openRenderer, TEST_IDENTITY } from '../../../test/support/renderer.ts'
import { startEngine } from './engine.ts'
import { checkBrowser } from './render/browser/check-browser.ts'

const site = await serve((_request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end('<p id="p"></p><script>p.textContent = "drawn"</script>')
})
const dataDir = makeDataDir()
const { renderer } = await openRenderer()
after(async () => {
  await site.close()
  removeDir(dataDir)
})

const page = () => ({
  customDomain: 'shop.example' as DomainName,
  originUrl: site.url,
  path: '/' as PagePath,
  signal: new AbortController().signal,
})

describe('an engine', () => {
  it('renders and inspects a page of an allowed private address', async () => {
    const { outcome } = await renderer.render(page())
    assert(outcome.kind === 'rendered', JSON.stringify(outcome))
    assert.match(outcome.html, /<p id="p">drawn<\/p>/)
    const { html, status } = await renderer.inspect(page())
    assert.equal(status, 200)
    assert.match(html ?? '', /<p id="p">drawn<\/p>/)
  })

  it('without options reaches no private address, and is not healthy after it was closed', async () => {
    const engine = await startEngine({ dataDir, chromium: testChromium, identity: TEST_IDENTITY })
    assert.equal(engine.healthy, true)
    const { outcome } = await engine.render(page())
    assert.equal(outcome.kind, 'origin-unreachable')
    await engine.close()
    assert.equal(engine.healthy, false)
    assert.equal((await engine.render(page())).outcome.kind, 'aborted')
  })

  it('rejects the start if the named browser does not exist', async () => {
    const start = startEngine({ dataDir, chromium: '/nowhere/chromium', identity: TEST_IDENTITY })
    await assert.rejects(start, /is not a program that can be run/)
  })
})

describe('checkSelectors', () => {
  it('returns the selectors that the browser refuses, with its reason, and no other', async () => {
    const good = ['main > p', ':is(#a, .b):not([hidden])', 'a[href^="https://"]']
    const bad = ['main >', ':nonsense()', '']
    const problems = await renderer.checkSelectors([...good, ...bad])
    assert.deepEqual(
      problems.map(({ selector }) => selector),
      bad,
    )
    for (const { reason } of problems) assert.match(reason, /not a valid selector|is empty/)
  })

  it('returns nothing for an empty list', async () => {
    assert.deepEqual(await renderer.checkSelectors([]), [])
  })
})

describe('checkBrowser', () => {
  it('names the product, its sandbox and where it was found', async () => {
    const { product, sandbox, source } = await checkBrowser({ chromium: testChromium, dataDir })
    assert.match(product, /Chrome\/\d+/)
    assert.match(sandbox, /^(on|off)$/)
    assert.match(source, /^(system|packaged|PREPAINT_CHROMIUM)$/)
  })
})
