/** What rules do to renders. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestRenderer, type TestRenderer } from '../../test/support/renderer.ts'
import type { RuleChange } from '../rules/schema.ts'

let renderer: TestRenderer
before(async () => {
  renderer = await startTestRenderer({ timeoutMs: 12_000 })
})
after(() => renderer.close())

const HEAD = '<!doctype html><title>Old</title><body><p>Content of the page, long enough to be one.</p>'

async function waited(script: string, rule: { waitFor?: string; waitMs?: number }) {
  renderer.routes.set('/wait', `${HEAD}<main></main><script>${script}</script>`)
  const { outcome } = await renderer.explained('/wait', { rule: { index: 0, ...rule } })
  return outcome
}

describe('wait_for: the capture waits until an element matches', () => {
  const later = (script: string) => `setTimeout(() => { ${script} }, 9000)`
  const cases: Record<string, string> = {
    'in the document': later(`document.querySelector('main').innerHTML = '<b id=price>9.90</b>'`),
    'in an open shadow root': later(
      `document.querySelector('main').attachShadow({ mode: 'open' }).innerHTML = '<b id=price>9.90</b>'`,
    ),
    'in a closed shadow root in a shadow root': later(
      `const outer = document.querySelector('main').attachShadow({ mode: 'open' })
       outer.innerHTML = '<p></p>'
       outer.firstChild.attachShadow({ mode: 'closed' }).innerHTML = '<b id=price>9.90</b>'`,
    ),
    'in a frame of the same origin': later(
      `const frame = document.createElement('iframe')
       document.body.append(frame)
       frame.contentDocument.body.innerHTML = '<b id=price>9.90</b>'`,
    ),
    'that is replaced again and again': later(
      `setInterval(() => { document.querySelector('main').innerHTML = '<b id=price>9.90</b>' }, 50)`,
    ),
    'that is there half of the time': later(
      `let n = 0
       setInterval(() => { document.querySelector('main').innerHTML = n++ % 2 ? '<b id=price>9.90</b>' : '' }, 150)`,
    ),
    'on a page that hides querySelector': `document.body.insertAdjacentHTML('beforeend',
      '<form name=querySelector></form><form name=querySelectorAll></form>')
      ${later(`document.body.insertAdjacentHTML('beforeend', '<b id=price>9.90</b>')`)}`,
  }
  for (const [name, script] of Object.entries(cases)) {
    it(name, async () => {
      const outcome = await waited(script, { waitFor: '#price' })
      assert.equal(outcome.kind, 'rendered')
      if (!name.includes('frame')) assert.match(outcome.kind === 'rendered' ? outcome.html : '', /9\.90/)
    })
  }

  it('none ever does: incomplete, and the reason names the selector', async () => {
    const outcome = await waited('', { waitFor: '#price > .never' })
    assert(outcome.kind === 'incomplete')
    assert.equal(outcome.reason, 'no element matches #price > .never')
  })
})

describe('wait_ms: of the page’s clock', () => {
  const late = `setTimeout(() => { document.querySelector('main').textContent = 'late' }, 20000)`
  it('what comes in that time is in the page, and costs no real time', async () => {
    const outcome = await waited(late, { waitMs: 30_000 })
    assert.match(outcome.kind === 'rendered' ? outcome.html : '', /late/)
  })
  it('and is not in the page without it', async () => {
    const outcome = await waited(late, {})
    assert.doesNotMatch(outcome.kind === 'rendered' ? outcome.html : '', /late/)
  })
  it('a request that starts meanwhile is awaited', async () => {
    renderer.routes.set('/late.json', (_request, response) => {
      setTimeout(() => response.end('fetched'), 300)
    })
    const outcome = await waited(
      `setTimeout(() => fetch('/late.json').then((r) => r.text()).then((t) => { document.querySelector('main').textContent = t }), 8000)`,
      { waitMs: 10_000 },
    )
    assert.match(outcome.kind === 'rendered' ? outcome.html : '', /fetched/)
  })
})

describe('block', () => {
  const asks = (host: string) =>
    `${HEAD}<main></main><script src="https://${host}/a.js" onerror="document.querySelector('main').textContent = 'blocked'"></script>`
  const reason = async (host: string, block: string[]) => {
    renderer.routes.set('/block', asks(host))
    const { record } = await renderer.explained('/block', { block, rule: { index: 0 } })
    return record?.troubles.find(({ url }) => url.includes(host))
  }
  it('a list, by host and below', async () => {
    const trouble = await reason('widget.boldchat.com', ['chat'])
    assert.deepEqual([trouble?.kind, trouble?.reason], ['blocked', 'by the rule of this path: chat'])
  })
  it('a pattern', async () => {
    const trouble = await reason('cdn.example-widget.test', ['*.example-widget.test'])
    assert.equal(trouble?.reason, 'by the rule of this path: *.example-widget.test')
  })
  it('other hosts are asked, and the next render is free again', async () => {
    assert.notEqual((await reason('other.test', ['*.example-widget.test', 'chat']))?.kind, 'blocked')
    assert.notEqual((await reason('cdn.example-widget.test', []))?.kind, 'blocked')
  })
  it('never the domain itself', async () => {
    renderer.routes.set('/own.js', `document.querySelector('main').textContent = 'own'`)
    renderer.routes.set('/block', `${HEAD}<main></main><script src="/own.js"></script>`)
    const { outcome } = await renderer.explained('/block', { block: ['*'], rule: { index: 0 } })
    assert.match(outcome.kind === 'rendered' ? outcome.html : '', />own</)
  })
})

describe('change: what is stored differs, what is judged does not', () => {
  const PAGE = `<!doctype html><html class="modal-open"><title>Old</title><link rel=canonical href=/a><link rel=canonical href=/b>
    <meta name=ROBOTS content=all><meta property="og:image" content=1><meta property="og:image" content=2>
    <body style="overflow: hidden; color: red"><h1>Kept</h1><div class=banner>Gone</div>
    <div id=onetrust-consent-sdk>Cookies?</div><svg><title>Picture</title></svg>
    <script>document.querySelector('h1').attachShadow({ mode: 'closed' }).innerHTML = '<i class=banner>Inner</i><slot></slot>'</script>`

  async function changed(change: RuleChange) {
    renderer.routes.set('/change', (_request, response) => {
      response.setHeader('content-type', 'text/html').setHeader('x-robots-tag', 'all').end(PAGE)
    })
    const { outcome, record } = await renderer.explained('/change', { rule: { index: 3, change } })
    assert(outcome.kind === 'rendered' && outcome.changed !== undefined)
    assert.match(outcome.html, /Cookies\?/)
    assert.deepEqual(record?.rule, outcome.changed.changes)
    return { ...outcome.changed, judged: outcome }
  }

  it('remove: in shadow roots too, never html, head and body', async () => {
    const { html, changes } = await changed({ remove: ['.banner', 'html', 'body', '.none'] })
    assert.doesNotMatch(html, /Gone|Inner/)
    assert.match(html, /Kept/)
    assert.deepEqual(changes.removed, [
      { selector: '.banner', elements: 2 },
      ...['html', 'body', '.none'].map((selector) => ({ selector, elements: 0 })),
    ])
    assert.equal(changes.rule, 3)
  })

  it('consent: banners go, and the page scrolls', async () => {
    const { html, changes } = await changed({ consent: true })
    assert.doesNotMatch(html, /Cookies\?|modal-open|overflow/)
    assert.match(html, /color: red/)
    assert.equal(changes.consent, 1)
  })

  it('head: replaced or added, as text', async () => {
    const { html, changes } = await changed({
      head: {
        ...{ title: 'New </title><script>alert(1)</script>', robots: 'noindex', canonical: 'self' },
        meta: [
          { property: 'og:image', content: '"><script>' },
          { name: 'x', content: 'y' },
        ],
      },
    })
    assert.match(html, /<title>New &lt;\/title&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;<\/title>/)
    assert.match(html, /<svg><title>Picture<\/title>/)
    assert.deepEqual(html.match(/<link[^>]*>/g), [
      '<link rel="canonical" href="https://shop.example/change">',
    ])
    assert.equal(html.match(/<meta name="robots" content="noindex">/g)?.length, 1)
    assert.equal(html.match(/og:image/g)?.length, 1)
    assert.match(html, /content="&quot;&gt;&lt;script&gt;"|content="&quot;><script>"/)
    assert.match(html, /<meta name="x" content="y">/)
    assert.deepEqual(changes.head, ['title', 'robots', 'canonical', 'og:image', 'x'])
  })

  it('headers: replaced or added', async () => {
    const { headers, changes, judged } = await changed({
      headers: { 'X-Robots-Tag': 'noarchive', 'X-Own': '1' },
    })
    assert.deepEqual(
      headers.filter(([name]) => /^x-(robots|own)/i.test(name)),
      [
        ['X-Robots-Tag', 'noarchive'],
        ['X-Own', '1'],
      ],
    )
    assert.equal(judged.headers.find(([name]) => name === 'x-robots-tag')?.[1], 'all')
    assert.deepEqual(changes.headers, ['X-Robots-Tag', 'X-Own'])
  })

  it('another render of the domain is without all of it', async () => {
    const { outcome } = await renderer.explained('/change')
    assert(outcome.kind === 'rendered' && outcome.changed === undefined)
  })
})
