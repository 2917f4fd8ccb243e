/** What is in the HTML that a crawler gets, by the page it was made of. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import { openRenderer } from '../../../test/support/renderer.ts'
import { AS_ASCII, type AsciiText, readAscii } from './snapshot.ts'

const renderer = await openRenderer()

type Case = { page: string; has?: (string | RegExp)[]; hasNot?: (string | RegExp)[] }

const cases: Record<string, Case> = {
  'the doctype, and html with its attributes': {
    page: '<!DOCTYPE html><html lang="de" class="a"><body><p>x',
    has: [/^<!DOCTYPE html>\n<html lang="de" class="a"><head>/],
  },
  'an old doctype': {
    page: '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd"><p>x',
    has: [
      '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">',
    ],
  },
  'no doctype where there was none': { page: '<p>x', has: [/^<html>/] },
  'signs of other scripts here and there': {
    page: `<meta charset=utf-8><p>${'words '.repeat(100)} – “naïve” 😀</p>`,
    has: ['words  – “naïve” 😀</p>'],
  },
  'texts in other scripts': {
    page: `<meta charset=utf-8><p>${'你好世界 Привет 😀 '.repeat(20)}</p>`,
    has: [`<p>${'你好世界 Привет 😀 '.repeat(20)}</p>`],
  },
  'scripts go, and what was loaded for them': {
    page: `<!doctype html><head><link rel="modulepreload" href="/a.js"><link rel="preload" as="script" href="/b.js">
      <link rel="preload" as="style" href="/c.css"><script type="importmap">{}</script></head>
      <body onload="1"><p onclick="go()" one="kept">x</p><script>1</script><script type="module">2</script>
      <script type="text/JavaScript" src="/d.js"></script><svg><script>3</script></svg>`,
    has: ['/c.css', '<p one="kept">x</p>'],
    hasNot: ['<script', 'modulepreload', '/b.js', 'onload', 'onclick'],
  },
  'what link previews read stands before the first style, in its order': {
    page: `<!doctype html><head><meta name="viewport" content="a"><style>b{}</style><meta property="og:title" content="c"><title>d</title>
      <style>e{}</style><meta name="twitter:card" content="f"><link rel="canonical" href="/g"><meta name="description" content="h"></head><body><p>x`,
    has: [
      '<head><meta charset="utf-8"><meta name="viewport" content="a"><meta property="og:title" content="c"><title>d</title><meta name="twitter:card" content="f"><link rel="canonical" href="/g"><meta name="description" content="h"><style>b{}',
    ],
  },
  'the head as scripts left it': {
    page: `<!doctype html><title>old</title><link rel="canonical" href="/old"><script>
      document.title = 'new'; document.querySelector('link').href = 'https://shop.example/new'
      const m = document.createElement('meta'); m.name = 'description'; m.content = 'd'; document.head.append(m)</script><p>x`,
    has: ['<title>new</title>', 'href="https://shop.example/new"', '<meta name="description" content="d">'],
    hasNot: ['old', '<base'],
  },
  'shadow roots, open, closed, nested and declared': {
    page: `<!doctype html><x-a></x-a><x-c></x-c><x-d><template shadowrootmode="open"><u>declared</u></template></x-d><script>
      const a = document.querySelector('x-a').attachShadow({ mode: 'open' }); a.innerHTML = '<p>open</p><x-b></x-b>'
      a.querySelector('x-b').attachShadow({ mode: 'open' }).innerHTML = '<slot></slot><b onclick="1">nested</b>'
      document.querySelector('x-c').attachShadow({ mode: 'closed' }).innerHTML = '<i>closed</i>'</script>`,
    has: [
      '<x-a><template shadowrootmode="open"><p>open</p><x-b><template shadowrootmode="open"><slot></slot><b>nested</b></template></x-b></template></x-a>',
      '<x-c><template shadowrootmode="open"><i>closed</i></template></x-c>',
      '<u>declared</u>',
    ],
  },
  'rules that exist only in memory': {
    page: `<!doctype html><style id="a"></style><style id="b">p { color: red }</style><x-a></x-a><p>x</p><script>
      a.sheet.insertRule('.made { color: blue; }'); b.sheet.insertRule('.more::after { content: "</style>"; }', 1)
      const s = new CSSStyleSheet(); s.replaceSync('.adopted { top: 0px; }'); document.adoptedStyleSheets = [s]
      const r = document.querySelector('x-a').attachShadow({ mode: 'open' }); r.innerHTML = '<b>y</b>'; r.adoptedStyleSheets = [s]</script>`,
    has: [
      '<style id="a">.made { color: blue; }</style>',
      'p { color: red; }',
      '.more::after { content: "<\\2f style>"; }',
      '<style>.adopted { top: 0px; }</style></head>',
      '<b>y</b><style>.adopted { top: 0px; }</style></template>',
    ],
  },
  'an unchanged style element stays as it was written': {
    page: '<!doctype html><style>p{color:red;;display:-x;display:flex}/* c */</style><p>x',
    has: ['<style>p{color:red;;display:-x;display:flex}/* c */</style>'],
  },
  'what was typed, ticked and chosen; no password': {
    page: `<!doctype html><input id="t"><input id="c" type="checkbox"><input id="u" type="checkbox" checked>
      <input id="w" type="password"><select><option>1<option id="o">2</select><textarea id="ta"></textarea><script>
      t.value = 'typed'; c.checked = true; u.checked = false; w.value = 'secret'; o.selected = true; ta.value = 'long <text>'</script>`,
    has: [
      '<input id="t" value="typed">',
      '<input id="c" type="checkbox" checked="">',
      '<input id="u" type="checkbox">',
      /<option id="o" selected="">/,
      '<textarea id="ta">long &lt;text&gt;</textarea>',
    ],
    hasNot: ['secret'],
  },
  'noscript as markup, not as text': {
    page: '<!doctype html><noscript><img src="/pixel.gif"></noscript><p>x',
    has: ['<noscript><img src="/pixel.gif"></noscript>'],
  },
  'frames are left as they are': {
    page: '<!doctype html><iframe src="/frame"></iframe><p>x',
    has: ['<iframe src="/frame"></iframe>'],
    hasNot: ['inside the frame'],
  },
  'a page that has broken its own world': {
    page: `<!doctype html><p>x</p><script>Array.prototype.map = Array.prototype.filter = Array.prototype.flatMap = () => { throw 1 }
      Array.prototype[Symbol.iterator] = function* () {}; Array.prototype.extra = 1; Object.prototype.stray = 1; Element.prototype.remove = () => { throw 2 }
      Map.prototype.get = Map.prototype.set = () => { throw 3 }; window.Map = null; JSON.stringify = () => 'broken'; document.write = null
      Element.prototype.querySelectorAll = Document.prototype.querySelectorAll = () => []; Element.prototype.getHTML = () => 'forged'
      Object.defineProperty(Element.prototype, 'outerHTML', { get: () => 'forged' })</script>`,
    has: ['<p>x</p>'],
    hasNot: ['<script', 'forged'],
  },
}

describe('a snapshot', () => {
  for (const [name, { page, has = [], hasNot = [] }] of Object.entries(cases)) {
    it(name, async () => {
      renderer.routes.set('/frame', '<p>inside the frame')
      renderer.routes.set('/case', page)
      const html = await renderer.html('/case')
      const holds = (part: string | RegExp) =>
        typeof part === 'string' ? html.includes(part) : part.test(html)
      for (const part of has) assert(holds(part), `${part} is missing: ${html}`)
      for (const part of hasNot) assert(!holds(part), `${part} is there: ${html}`)
    })
  }

  it('rendered again is the same text', async () => {
    renderer.routes.set('/case', cases['shadow roots, open, closed, nested and declared']!.page)
    const once = await renderer.html('/case')
    renderer.routes.set('/again', once)
    assert.equal(await renderer.html('/again'), once)
  })
})

/** As in a Chromium that has `toBase64`, or in an older one. */
function write(text: string, hasBase64 = true): AsciiText {
  class Bytes extends Uint8Array {
    declare toBase64?: () => string
  }
  if (hasBase64)
    Bytes.prototype.toBase64 = function () {
      return Buffer.from(this).toString('base64')
    }
  return runInNewContext(`${AS_ASCII}; asAscii(text)`, { text, TextEncoder, Uint8Array: Bytes })
}

const LATIN = 'nothing but words. '.repeat(40)
const TEXTS: Record<string, { text: string; form: AsciiText['form']; older?: AsciiText['form'] }> = {
  'nothing foreign': { text: `${LATIN}\x7f\0"\\`, form: 'plain' },
  'a sign here and there': { text: `${LATIN}“ü”…${LATIN}\u{1f600}`, form: 'escaped' },
  'half a pair': { text: `${LATIN}\ud83d`, form: 'escaped' },
  'what escapes begin with is there itself': { text: `${LATIN}\x7f00e4 ä`, form: 'base64', older: 'plain' },
  'another script': { text: '你好世界, привет'.repeat(20), form: 'base64', older: 'plain' },
}

for (const [name, { text, form, older = form }] of Object.entries(TEXTS)) {
  it(`${name}: ${form}, and the same again`, () => {
    for (const [hasBase64, expected] of [
      [true, form],
      [false, older],
    ] as const) {
      const written = write(text, hasBase64)
      assert.equal(written.form, expected)
      if (expected !== 'plain') assert.match(written.text, /^[\0-\x7f]*$/)
      assert.equal(readAscii(written), text)
    }
  })
}
