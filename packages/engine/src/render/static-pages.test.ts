import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { type Answer, openRenderer, taggable } from '../../../../test/support/renderer.ts'
import { completePage, documentText } from './visit/complete-page.ts'

const test = await openRenderer()
const HTML = { 'content-type': 'text/html; charset=utf-8' }
const answer =
  (body: string, headers: Record<string, string>, status = 200): Answer =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body)

const plain = (text: string, head = '') =>
  `<!doctype html><html><head><meta charset="utf-8"><title>${text}</title>${head}</head><body><p>${text}</p></body></html>`

/** Renders pages of `/folder/` until the next one is read without a browser. */
async function practise(folder: string): Promise<void> {
  for (const name of ['a', 'b', 'c']) {
    test.routes.set(`/${folder}/${name}`, plain('practice'))
    await test.html(`/${folder}/${name}`)
  }
}

async function statically(path: string, page: Answer) {
  test.routes.set(path, page)
  const { outcome, record } = await test.explained(path)
  return { outcome, record, isStatic: outcome.kind === 'rendered' && outcome.isStatic === true }
}

it('a page without scripts is read without a browser after three like it were rendered', async () => {
  const folder = 'first'
  for (const name of ['a', 'b', 'c']) {
    assert.equal((await statically(`/${folder}/${name}`, plain(name))).isStatic, false)
  }
  const before = test.asked.length
  const { outcome, record, isStatic } = await statically(`/${folder}/d`, plain('d'))
  assert.equal(isStatic, true)
  assert.deepEqual(test.asked.slice(before), [`/${folder}/d`])
  assert.equal(outcome.kind === 'rendered' && outcome.status, 200)
  assert.deepEqual([record?.phases.slot, record?.phases.tab, record?.requests.made], [null, null, 1])
})

describe('what is stored without a browser is what a render stores', () => {
  const body = taggable(
    (text, head = '') =>
      `<!DOCTYPE html><html lang=en data-x='"'><head>${head}<title>A &amp; B</title></head><body class="[&>li]:x">${text}</body></html>`,
  )
  const pages: Record<string, string> = {
    markup: body('<p>a<p>b &lt; c&nbsp;d &copy;<ul><li>1<li>2</ul><table><tr><td>x</table><pre>\n\nx</pre>'),
    metas: body(
      '<p>gone</p>',
      '<meta name="prerender-status-code" content="410"><meta name="prerender-header" content="X-A: b"><meta http-equiv="Content-Type" content="text/html; charset=utf-8">',
    ),
    'tags-first': body(
      '<p>x</p>',
      '<style>p{color:red}</style><meta property="og:title" content="T"><link rel=canonical href=/c><meta name=description content=d>',
    ),
    'own-style': body('<p>x</p>', '<style media=print>p { color : RED; margin:0 }</style>'),
    forms: body`<form><input value="v"><input type=checkbox checked><input type=email><textarea>\na\n&lt;/b</textarea><button disabled>b</button></form>`,
    odd: body(
      `<svg viewBox="0 0 1 1"><title>t</title><use xlink:href="#a"/></svg><math><mi>x</mi></math><!----><!--$--><!--[if IE]>x<![endif]-->
      <noscript><img src="/t.gif"></noscript><p><b>1<i>2</b>3</i></p></div><br></br><p><table>x<td>y</table><p>Grüße 日本 🎉 \u2028`,
      '<!-- head --><noscript><meta name=a></noscript><script type="application/ld+json">{"a":"<b>"}</script>',
    ),
    'no-doctype': '<title>t</title><p>x',
    old: '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd"><title>t</title><p>x',
    pictures: body`<img src="a.png" alt="x > y" loading=lazy><picture><source srcset=b.webp><img src=b.png></picture><hr>`,
    details: body`<details open><summary>s</summary>x</details><p hidden>h</p><dialog>d</dialog><p>seen</p>`,
  }
  before(() => practise('kept'))
  for (const [name, page] of Object.entries(pages)) {
    it(name, async () => {
      const rendered = await statically(`/${name}/rendered`, page)
      const read = await statically(`/kept/${name}`, page)
      assert.deepEqual([rendered.isStatic, read.isStatic], [false, true])
      assert.deepEqual({ ...read.outcome, isStatic: undefined }, { ...rendered.outcome, isStatic: undefined })
    })
  }
})

describe('a browser renders', () => {
  const doubtful: Record<string, string> = {
    'a module': '<script type=module src=/m.js></script>',
    'a script in SVG': '<svg><script>1</script></svg>',
    'other data': '<script type="application/json">{}</script>',
    'a handler': '<img src=x onerror="1">',
    'a javascript: address': '<a href=" java\tscript:x()">x</a>',
    'a custom element': '<my-element>x</my-element>',
    'an extended element': '<p is=my-p>x</p>',
    'a template': '<template><p>x</p></template>',
    'a declarative shadow root': '<div><template shadowrootmode=open>x</template></div>',
    'a frame': '<iframe src=/f></iframe>',
    'a refresh': '<meta http-equiv=refresh content="0;url=/other">',
    'a policy': '<meta http-equiv=content-security-policy content="default-src *">',
    'a preload of a script': '<link rel=preload as=script href=/a.js>',
    'an alternate style sheet': '<link rel="alternate stylesheet" href=/a.css>',
    'an imported style sheet': '<style>@import "/a.css";</style>',
    'a choice': '<select><option>1<option>2</select>',
    'radio buttons': '<input type=radio checked><input type=radio checked>',
    'a range': '<input type=range>',
    'an animated attribute': '<svg><set attributeName=href to="/x"/></svg>',
    'a NUL character': 'a\0b',
  }
  it('what may be otherwise in a browser, or whose encoding is not known', () => {
    const isTaken = (markup: string) => completePage(plain(`x ${markup}`), 'https://shop.example/') !== null
    assert(isTaken(''))
    for (const [name, markup] of Object.entries(doubtful)) assert(!isTaken(markup), name)
    const text = '<!doctype html><p>\xff'
    const latin = Buffer.from(text, 'latin1')
    assert.equal(documentText(latin, 'text/html'), null)
    assert.equal(documentText(latin, 'text/html; charset=utf-8'), null)
    assert.equal(documentText(Buffer.from(text), 'text/html; charset=utf-8'), text)
  })

  for (const [name, page] of Object.entries<Answer>({
    'a page with a script, requested once': plain('x <script>1</script>'),
    'a page with another style sheet than the pages before': plain('x <link rel=stylesheet href=/new.css>'),
    XHTML: answer('<html xmlns="http://www.w3.org/1999/xhtml"><body>x</body></html>', {
      'content-type': 'application/xhtml+xml; charset=utf-8',
    }),
  })) {
    it(name, async () => {
      const folder = name.replaceAll(' ', '-')
      await practise(folder)
      const before = test.asked.length
      assert.equal((await statically(`/${folder}/d`, page)).isStatic, false)
      const own = test.asked.slice(before).filter((path) => path.startsWith(`/${folder}/`))
      assert.deepEqual(own, [`/${folder}/d`])
    })
  }

  it('nothing to see, or a document that is not all there', async () => {
    await practise('blank')
    assert.equal((await statically('/blank/d', plain('', '<title>t</title>'))).outcome.kind, 'blank')
    const cut = await statically('/blank/e', (_request, response) => {
      response.writeHead(200, { ...HTML, 'content-length': '500' }).write(plain('half'))
      setImmediate(() => response.destroy())
    })
    assert.equal(cut.outcome.kind, 'origin-unreachable')
  })

  it('a page that a rule of the owner changes', async () => {
    await practise('ruled')
    test.routes.set('/ruled/d', plain('d'))
    const { outcome } = await test.explained('/ruled/d', { rule: { index: 0, change: { remove: ['p'] } } })
    assert.ok(outcome.kind === 'rendered' && outcome.isStatic === undefined && outcome.changed !== undefined)
  })
})

it('packed documents, statuses, headers and redirects are as in a render', async () => {
  await practise('sent')
  const packed = await statically('/sent/packed', ({ headers }, response) => {
    assert.match(String(headers['accept-encoding']), /zstd/)
    assert.match(String(headers['user-agent']), /Chrome.*Prepaint/)
    assert.equal(headers['x-forwarded-host'], 'shop.example')
    response.writeHead(200, { ...HTML, 'content-encoding': 'zstd' }).end(zstdCompressSync(plain('packed')))
  })
  assert.ok(packed.isStatic && packed.outcome.kind === 'rendered')
  assert.match(packed.outcome.html, /<p>packed<\/p>/)
  const headers = { ...HTML, 'x-robots-tag': 'noindex', 'cache-control': 'no-store', 'set-cookie': 'a=b' }
  const missing = await statically('/sent/missing', answer(plain('not here'), headers, 404))
  assert.ok(missing.isStatic && missing.outcome.kind === 'rendered')
  assert.equal(missing.outcome.status, 404)
  const kept = { 'x-robots-tag': 'noindex', 'cache-control': 'no-store' }
  assert.deepEqual(Object.fromEntries(missing.outcome.headers), kept)
  const moved = await statically('/sent/moved', answer('', { location: '/sent/there' }, 301))
  const location = moved.outcome.kind === 'redirect' && moved.outcome.location
  assert.deepEqual([location, moved.record?.phases.slot], ['https://shop.example/sent/there', null])
})

it('phones, other headers for the origin and other domains have pages of their own', async () => {
  await practise('own')
  test.routes.set('/own/d', plain('d'))
  for (const other of [
    { visitor: { device: 'mobile' as const } },
    { originHeaders: ['X-Secret', 's'] },
    { domain: 'elsewhere.example' },
  ]) {
    // The second time, the gateway knows the headers of such a document.
    for (const _time of [1, 2]) {
      const { outcome } = await test.explained('/own/d', other)
      assert.ok(outcome.kind === 'rendered' && outcome.isStatic === undefined)
    }
  }
})
