/** What rules do to renders. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import type { RuleChange } from '@prepaint/contract/rules/schema.ts'
import { openRenderer } from '../../../../test/support/renderer.ts'

const renderer = await openRenderer({ timeoutMs: 12_000 })

const HEAD = '<!doctype html><title>Old</title><body><p>Content of the page, long enough to be one.</p>'

/** `main` is an element of the page. */
async function waited(script: string, rule: { waitFor?: string; waitMs?: number }) {
  renderer.routes.set('/wait', `${HEAD}<main id=main></main><script>${script}</script>`)
  return (await renderer.explained('/wait', { rule: { index: 0, ...rule } })).outcome
}
const htmlOf = (outcome: RenderOutcome) => (outcome.kind === 'rendered' ? outcome.html : '')

describe('wait_for: the capture waits until an element matches', () => {
  const later = (script: string) => `setTimeout(() => { ${script} }, 9000)`
  const PRICE = `'<b id=price>9.90</b>'`
  const cases: Record<string, string> = {
    'after the page says that it is ready': `window.prerenderReady = true; ${later(`main.innerHTML = ${PRICE}`)}`,
    'in a closed shadow root in a shadow root': later(
      `const outer = main.attachShadow({ mode: 'open' }); outer.innerHTML = '<p></p>'
       outer.firstChild.attachShadow({ mode: 'closed' }).innerHTML = ${PRICE}`,
    ),
    'in a frame of the same origin': later(
      `const frame = document.createElement('iframe'); document.body.append(frame)
       frame.contentDocument.body.innerHTML = ${PRICE}; main.textContent = '9.90'`,
    ),
    'on a page that hides querySelector': `document.body.insertAdjacentHTML('beforeend',
      '<form name=querySelector></form><form name=querySelectorAll></form>')
      ${later(`document.body.insertAdjacentHTML('beforeend', ${PRICE})`)}`,
  }
  for (const [name, script] of Object.entries(cases)) {
    it(name, async () => {
      assert.match(htmlOf(await waited(script, { waitFor: '#price' })), /9\.90/)
    })
  }

  it('after 25 seconds of the page’s clock', async () => {
    const script = `setTimeout(() => { main.innerHTML = ${PRICE} }, 25_000)`
    assert.match(htmlOf(await waited(script, { waitFor: '#price' })), /9\.90/)
  })

  it('none ever does: incomplete, and the reason names the selector', async () => {
    const outcome = await waited('', { waitFor: '#price > .never' })
    assert(outcome.kind === 'incomplete')
    assert.equal(outcome.reason, 'no element matches #price > .never')
  })
})

describe('wait_ms: of the page’s clock', () => {
  it('counts from the moment when wait_for matches', async () => {
    const script = `setTimeout(() => { main.innerHTML = '<b id=price></b>'
      setTimeout(() => { price.textContent = '9.90' }, 3000) }, 9000)`
    assert.match(htmlOf(await waited(script, { waitFor: '#price', waitMs: 4_000 })), /9\.90/)
    assert.doesNotMatch(htmlOf(await waited(script, { waitFor: '#price', waitMs: 1_000 })), /9\.90/)
  })
  it('what comes in that time is in the page, and costs no real time', async () => {
    const late = `setTimeout(() => { main.textContent = 'late' }, 20000)`
    assert.match(htmlOf(await waited(late, { waitMs: 30_000 })), /late/)
    assert.doesNotMatch(htmlOf(await waited(late, {})), /late/)
  })
  it('a request that starts meanwhile is awaited', async () => {
    renderer.routes.set('/late', (_request, response) => void setTimeout(() => response.end('fetched'), 300))
    const late = `setTimeout(async () => { main.textContent = await (await fetch('/late')).text() }, 8000)`
    assert.match(htmlOf(await waited(late, { waitMs: 10_000 })), /fetched/)
  })
})

describe('block', () => {
  async function trouble(host: string, block: string[]) {
    renderer.routes.set('/block', `${HEAD}<script src="https://${host}/a.js"></script>`)
    const { record } = await renderer.explained('/block', { block, rule: { index: 0 } })
    return record?.troubles.find(({ url }) => url.includes(host))
  }
  it('hosts of a list and of a pattern; others are asked, and the next render is free again', async () => {
    for (const [host, by] of [
      ['widget.boldchat.com', 'chat'],
      ['cdn.example-widget.test', '*.example-widget.test'],
    ] as const) {
      const { kind, reason } = (await trouble(host, [by])) ?? {}
      assert.deepEqual([kind, reason], ['blocked', `by the rule of this path: ${by}`])
    }
    for (const host of [
      'consent.cookiebot.com',
      'cdn.iubenda.com',
      'cdn-cookieyes.com',
      'consent.trustarc.com',
    ]) {
      assert.equal((await trouble(host, ['consent']))?.kind, 'blocked', host)
    }
    assert.notEqual((await trouble('other.test', ['*.example-widget.test', 'chat']))?.kind, 'blocked')
    assert.notEqual((await trouble('cdn.example-widget.test', []))?.kind, 'blocked')
  })
  it('never the domain itself', async () => {
    renderer.routes.set('/own.js', `document.querySelector('main').textContent = 'own'`)
    renderer.routes.set('/block', `${HEAD}<main></main><script src="/own.js"></script>`)
    const { outcome } = await renderer.explained('/block', { block: ['*'], rule: { index: 0 } })
    assert.match(htmlOf(outcome), />own</)
  })
})

describe('change.consent', () => {
  const LOCKED = `<!doctype html><html class="modal-open"><title>Page</title><body style="overflow: hidden"><h1>Content of the page</h1>`
  async function without(banner: string) {
    renderer.routes.set('/consent', `${LOCKED}${banner}`)
    const { outcome } = await renderer.explained('/consent', {
      rule: { index: 0, change: { consent: true } },
    })
    assert(outcome.kind === 'rendered' && outcome.changed !== undefined)
    return outcome.changed
  }
  const banners: Record<string, string> = {
    'Usercentrics, in a shadow root': `<div id=usercentrics-root>Cookies?</div>`,
    'Usercentrics 3': `<aside id=usercentrics-cmp-ui>Cookies?</aside>`,
    TrustArc: `<div id=truste-consent-track>Cookies?</div>`,
    HubSpot: `<div id=hs-eu-cookie-confirmation>Cookies?</div>`,
    Cookiebot: `<div id=CybotCookiebotDialog>Cookies?</div>`,
  }
  for (const [name, banner] of Object.entries(banners)) {
    it(`removes the banner of ${name}, and the page scrolls again`, async () => {
      const { html, changes } = await without(banner)
      assert.doesNotMatch(html, /Cookies\?|modal-open|overflow/)
      assert.equal(changes.consent, 1)
    })
  }

  it('undoes nothing where there is no banner', async () => {
    const { html, changes } = await without('<div id=menu>Cookies and cakes</div>')
    assert.match(html, /<html class="modal-open">/)
    assert.match(html, /overflow: hidden/)
    assert.match(html, /Cookies and cakes/)
    assert.equal(changes.consent, 0)
  })
})

describe('change: what is stored differs, what is judged does not', () => {
  const PAGE = `<!doctype html><html class="modal-open"><title>Old</title><link rel=canonical href=/a><link rel=canonical href=/b>
    <meta name=ROBOTS content=all><meta property="og:image" content=1><meta property="og:image" content=2>
    <body style="overflow: hidden; color: red"><h1>Kept</h1><div class=banner>Gone</div>
    <div id=onetrust-consent-sdk>Cookies?</div><svg><title>Picture</title></svg>
    <script>document.querySelector('h1').attachShadow({ mode: 'closed' }).innerHTML = '<i class=banner>Inner</i><slot></slot>'</script>`

  /** As `unchanged`, without the rule, and with it. */
  async function changedBy(change: RuleChange) {
    renderer.routes.set('/change', (_request, response) => {
      response.setHeader('content-type', 'text/html').setHeader('x-robots-tag', 'all').end(PAGE)
    })
    const { outcome: unchanged } = await renderer.explained('/change')
    assert(unchanged.kind === 'rendered' && unchanged.changed === undefined)
    const { outcome, record } = await renderer.explained('/change', { rule: { index: 3, change } })
    assert(outcome.kind === 'rendered' && outcome.changed !== undefined)
    // What is judged: as without the rule.
    assert.match(outcome.html, /Cookies\?/)
    assert.equal(outcome.html, unchanged.html)
    assert.equal(outcome.headers.find(([name]) => name === 'x-robots-tag')?.[1], 'all')
    assert.deepEqual(record?.rule, outcome.changed.changes)
    return outcome.changed
  }

  it('elements and a consent banner, in shadow roots too, never html, head and body; and the page scrolls', async () => {
    const remove = ['.banner', 'html', 'body', '.none']
    const { html, changes } = await changedBy({ remove, consent: true })
    assert.doesNotMatch(html, /Gone|Inner|Cookies\?|modal-open|overflow/)
    assert.match(html, /color: red/)
    assert.match(html, /Kept/)
    const counted = changes.removed.map(({ selector, elements }) => `${selector} ${elements}`)
    assert.deepEqual(counted, ['.banner 2', 'html 0', 'body 0', '.none 0'])
    assert.deepEqual([changes.rule, changes.consent], [3, 1])
  })

  it('the head and headers, replaced or added, as text', async () => {
    const title = 'New </title><script>alert(1)</script>'
    const meta = [
      { property: 'og:image', content: '"><script>' },
      { name: 'x', content: 'y' },
    ]
    const { html, headers, changes } = await changedBy({
      head: { title, robots: 'noindex', canonical: 'self', meta },
      headers: { 'X-Robots-Tag': 'noarchive', 'X-Own': '1' },
    })
    assert.match(html, /<title>New &lt;\/title&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;<\/title>/)
    assert.match(html, /<svg><title>Picture<\/title>/)
    const canonical = '<link rel="canonical" href="https://shop.example/change">'
    assert.deepEqual(html.match(/<link[^>]*>/g), [canonical])
    assert.equal(html.match(/<meta name="robots" content="noindex">/g)?.length, 1)
    assert.equal(html.match(/og:image/g)?.length, 1)
    assert.match(html, /content="&quot;&gt;&lt;script&gt;"|content="&quot;><script>"/)
    assert.match(html, /<meta name="x" content="y">/)
    const own = headers.filter(([name]) => /^x-(robots|own)/i.test(name)).map(String)
    assert.deepEqual(own, ['X-Robots-Tag,noarchive', 'X-Own,1'])
    assert.deepEqual(changes.head, ['title', 'robots', 'canonical', 'og:image', 'x'])
    assert.deepEqual(changes.headers, ['X-Robots-Tag', 'X-Own'])
  })

  it('an element, what is around it with a canonical, a form that hides its methods, and a head set twice and before the styles', async () => {
    renderer.routes.set(
      '/nested',
      `<style>p {}</style><title>N</title><body><p>Kept, and long enough to be content.</p>
      <div class=b>1<link rel=canonical href=/x><form class=a><input name=before><input name=after>2</form>3</div>`,
    )
    const meta = [
      { name: 'robots', content: 'all' },
      { name: 'description', content: 'new' },
    ]
    const change: RuleChange = {
      remove: ['.a', '.b', '.none'],
      head: { robots: 'none', canonical: 'self', meta },
    }
    const { outcome } = await renderer.explained('/nested', { rule: { index: 0, change } })
    assert(outcome.kind === 'rendered')
    assert.match(
      outcome.html,
      /<div class="b">1<link rel="canonical" href="\/x"><form class="a">.*2<\/form>3<\/div>/,
    )
    const html = outcome.changed?.html ?? ''
    assert.match(html, /content\.<\/p>\s*<\/body><\/html>$/)
    const head =
      '<title>N</title><meta name="robots" content="all"><link rel="canonical" href="https://shop.example/nested">' +
      '<meta name="description" content="new"><style>'
    assert(html.includes(head), html)
  })
})
