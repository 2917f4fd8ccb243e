/** What is in the HTML that a crawler gets, by the page it was made of. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Expectation } from '../../../../../test/render/corpus-page.ts'
import { judge } from '../../../../../test/render/judge.ts'
import { openRenderer } from '../../../../../test/support/renderer.ts'

const renderer = await openRenderer()

const OLD_DOCTYPE =
  '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
const cases: Record<string, Expectation & { page: string }> = {
  'the doctype, and html with its attributes': {
    page: '<!DOCTYPE html><html lang="de" class="a"><body><p>x',
    has: [/^<!DOCTYPE html>\n<html lang="de" class="a"><head>/],
  },
  'an old doctype': { page: `${OLD_DOCTYPE}<p>x`, has: [OLD_DOCTYPE] },
  'no doctype where there was none': { page: '<p>x', has: [/^<html>/] },
  'signs of other scripts here and there': {
    page: `<meta charset=utf-8><p>${'words '.repeat(100)} – “naïve” 😀 \x7f00e4</p>`,
    has: ['words  – “naïve” 😀 \x7f00e4</p>'],
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
  'what is for clients without scripts goes: from head, body, shadow roots and frames': {
    page: `<!doctype html><head><noscript><link rel="stylesheet" href="/gone.css"><meta http-equiv="refresh" content="0;url=/gone"></noscript></head>
      <body><p>x</p><noscript><p>gone</p></noscript><div><template shadowrootmode="open"><b>kept</b><noscript>gone</noscript></template></div>
      <iframe srcdoc="<p>framed</p><noscript>gone</noscript>"></iframe><p>&lt;noscript&gt; is written here`,
    has: ['<b>kept</b>', '&lt;p&gt;framed&lt;/p&gt;', '&lt;noscript&gt; is written here'],
    hasNot: ['gone', '<noscript'],
  },
  'data that a parser would read on and on is closed, and stays what it is': {
    page: `<!doctype html><p>x</p><div id="at"></div><script>const put = (type, text) => {
      const s = document.createElement('script'); s.type = type; s.textContent = text.replaceAll('{', '<'); at.append(s) }
      put('application/ld+json', '["{!-- {script>"]'); put('text/x-template', '{!--{script '); put('text/plain', '{!-- kept -->')</script><p>last</p>`,
    has: ['["\\u003c!-- \\u003cscript>"]', '\\x3c!--\\x3cscript ', '<!-- kept -->', '<p>last</p>'],
  },
  'line feeds at the start of preformatted texts': {
    page: `<!doctype html><pre>\n\n\nthree</pre><pre>\none</pre><textarea id="t"></textarea><listing id="l"></listing><script>t.value = '\\ntyped'; l.textContent = '\\nset'</script>`,
    has: ['<pre>\n\n\nthree</pre>', '<pre>one</pre>', '>\n\ntyped</textarea>', '>\n\nset</listing>'],
  },
  'the last state of finished animations': {
    page: `<!doctype html><style>p { opacity: 0 } @keyframes k { to { margin-left: 9px } } #d { animation: k 1ms forwards }</style><p id="a">a</p><p id="b">b</p><p id="c">c</p><p id="d">d</p><p id="e">e</p><script>
      a.animate({ opacity: 1, transform: 'none', '--x': '1' }, { duration: 1, fill: 'forwards' }); b.animate([{ opacity: 0 }, { opacity: 0.5 }], { duration: 300, iterations: 2, direction: 'alternate', fill: 'both' })
      c.animate({ opacity: 1 }, { duration: 1 }); e.animate({ opacity: 1 }, { duration: 500, iterations: Infinity, fill: 'forwards' })</script>`,
    has: [
      /<p id="a" style="(?=[^"]*opacity: 1)(?=[^"]*transform: none)[^"]*">a</,
      '<p id="b" style="opacity: 0;">',
      '<p id="c">',
      '<p id="d">',
      '<p id="e">',
    ],
  },
  'frames without an address, as they are at the end': {
    page: `<!doctype html><iframe id="a"></iframe><iframe id="b" src="about:blank"></iframe><iframe id="c"></iframe><iframe id="d" src="javascript:void 0"></iframe><iframe sandbox srcdoc="<i>closed</i>"></iframe><script>
      a.contentDocument.body.innerHTML = '<b onclick="go()">put in</b><script>1<\\/script>'
      b.srcdoc = '<iframe srcdoc="<u>x</u><script>document.querySelector(&quot;u&quot;).textContent = &quot;nested&quot;<\\/script>"></iframe>'
      d.contentDocument.write('<em>written</em>'); d.contentDocument.close()</script>`,
    has: ['&lt;b&gt;put in&lt;/b&gt;', 'nested', '&lt;em&gt;written', '<iframe id="c"></iframe>', 'closed'],
    hasNot: ['onclick', 'javascript:', 'script'],
  },
  'bytes of the page, without their addresses': {
    page: `<!doctype html><img id="i" alt="a"><a id="n">n</a><video id="v"></video><p id="p">blob: is a word</p><script>
      const to = (text, type) => URL.createObjectURL(new Blob([text], { type })); n.href = to('x'); v.poster = to('x'); p.style.backgroundImage = 'url(' + to('x') + ')'
      i.src = to('<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"/>', 'image/svg+xml')
      document.head.insertAdjacentHTML('beforeend', '<link rel="stylesheet" media="print" href="' + to('.made { color: teal }', 'text/css') + '"><style>b { background: url("' + to('x') + '") }</style>')</script>`,
    has: [
      '<style media="print">.made { color: teal; }</style>',
      'blob: is a word',
      /<img id="i" alt="a" src="data:image\/svg\+xml;base64,/,
    ],
    hasNot: ['blob:https'],
  },
  'what scripts registered': {
    page: `<!doctype html><p>x</p><script>CSS.registerProperty({ name: '--tide', syntax: '<length>', inherits: false, initialValue: '2px' })
      document.fonts.add(new FontFace('Grey Heron', 'url(/a.woff2)', { weight: '700' }))</script>`,
    has: [
      '@property --tide { syntax: "<length>"; inherits: false; initial-value: 2px; }',
      '@font-face { font-family: "Grey Heron"; src: url(/a.woff2); font-weight: 700; }',
    ],
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
  for (const [name, { page, ...expected }] of Object.entries(cases)) {
    it(name, async () => {
      renderer.routes.set('/case', page)
      judge(await renderer.page('/case'), expected)
    })
  }

  it('rendered again is the same text', async () => {
    renderer.routes.set('/case', cases['shadow roots, open, closed, nested and declared']!.page)
    const once = await renderer.html('/case')
    renderer.routes.set('/again', once)
    assert.equal(await renderer.html('/again'), once)
  })
})

/*
 * Nothing in a snapshot runs. Each row runs in its page, which proves that it can, and not in the snapshot, which is
 * opened in the browser and clicked through. Rows follow HTML, "prepare the script element", and its other ways to run.
 */

/** RAN: the way's own address. */
const RUN = `parent.fetch('RAN')`
const typed = (type: string) => `<script type="${type}">${RUN}</script>`
const spoken = (language: string) => `<script language="${language}">${RUN}</script>`

const TYPES = [
  ...['application', 'text'].flatMap((kind) =>
    ['ecmascript', 'javascript', 'x-ecmascript', 'x-javascript'].map((name) => `${kind}/${name}`),
  ),
  ...['text/jscript', 'text/livescript'],
  ...['0', '1', '2', '3', '4', '5'].map((minor) => `text/javascript1.${minor}`),
  ...['', 'module', 'TEXT/JavaScript', ' text/javascript\t'],
]
const LANGUAGES = ['', 'JavaScript', 'javascript', 'JScript', 'LiveScript', 'ECMAScript', 'JavaScript1.5']

const runs: Record<string, string> = {
  'no type': `<script>${RUN}</script>`,
  ...Object.fromEntries(TYPES.map((type) => [`type "${type}"`, typed(type)])),
  ...Object.fromEntries(LANGUAGES.map((language) => [`language "${language}"`, spoken(language)])),
  'an empty type wins over a language': `<script type="" language="VBScript">${RUN}</script>`,
  'an address': `<script src="RAN"></script>`,
  'a module by its address': `<script type="module" src="RAN"></script>`,
  'in SVG': `<svg><script>${RUN}</script></svg>`,
  'in SVG, whatever its language': `<svg><script language="vbscript">${RUN}</script></svg>`,
  'in SVG, by its address': `<svg><script href="RAN"></script><script xlink:href="RAN"></script></svg>`,
  'in a declared shadow root': `<div><template shadowrootmode="open"><script>${RUN}</script></template></div>`,
  'an event handler': `<img src="data:," onerror="${RUN}">`,
  'an event handler of the body': `<body onload="${RUN}">`,
  'an event handler in SVG': `<svg onload="${RUN}"></svg>`,
  'an event handler in capitals': `<iMg src="data:," OnError="${RUN}">`,
  'a click handler': `<button onclick="${RUN}">b</button>`,
  'a handler of an animation': `<svg><animate attributeName="x" dur="1ms" onbegin="${RUN}"/></svg>`,
  'a link': `<a href="javascript:${RUN}">a</a>`,
  'a link with spaces, tabs and breaks': `<a href=" \n&#9;jAva&#10;scr&#9;ipt&#13;:${RUN}">a</a>`,
  'a link in SVG': `<svg><a href="javascript:${RUN}"><text>a</text></a></svg>`,
  'an XLink': `<svg><a xlink:href="javascript:${RUN}"><text>a</text></a></svg>`,
  'an area': `<map name="m"><area href="javascript:${RUN}"></map>`,
  'a form': `<form action="javascript:${RUN}"><button>b</button></form>`,
  'a button of a form': `<form><button formaction="javascript:${RUN}">b</button></form>`,
  'a frame at a script': `<iframe src="javascript:${RUN}"></iframe>`,
  'a frame of markup': `<iframe srcdoc="<script>${RUN}</script>"></iframe>`,
  'a frame of markup with a handler': `<iframe srcdoc="<p>x</p><img src='data:,' onerror=&quot;${RUN}&quot;>"></iframe>`,
  'a frame of markup within another': `<iframe srcdoc="<iframe srcdoc='&lt;script&gt;parent.parent.fetch(\`RAN\`)&lt;/script&gt;'></iframe>"></iframe>`,
}

const awake = (script: TemplateStringsArray) => `<script>{ ${script[0]} }</script>`
/** Not run in the page, but by the parser that reads the snapshot. */
const awakes: Record<string, string> = {
  'a shadow root that was put in as text': awake`at.innerHTML = '<b><template shadowrootmode="open"><script>fetch("RAN")<\\/script></template></b>'`,
  'an element in capitals': awake`const s = document.createElementNS('http://www.w3.org/1999/xhtml', 'SCRIPT'); s.textContent = 'fetch("RAN")'; at.append(s)`,
  'a script of no namespace': awake`const s = document.createElementNS('urn:x', 'script'); s.textContent = 'fetch("RAN")'; at.append(s)`,
  'a handler of no namespace': awake`const s = document.createElementNS('urn:x', 'img'); s.setAttribute('src', 'data:,'); s.setAttribute('onerror', 'fetch("RAN")'); at.append(s)`,
  'a handler of a body of no namespace': awake`const s = document.createElementNS('urn:x', 'body'); s.setAttribute('onpageshow', 'fetch("RAN")'); at.append(s)`,
  'a handler in capitals': awake`const s = document.createElement('img'); s.setAttribute('src', 'data:,'); s.setAttributeNS(null, 'ONERROR', 'fetch("RAN")'); at.append(s)`,
  'a link in capitals': awake`const s = document.createElement('a'); s.setAttributeNS(null, 'HREF', 'javascript:fetch("RAN")'); at.append(s)`,
  'a type in capitals before the one that counts': awake`const s = document.createElement('script'); s.setAttributeNS(null, 'TYPE', 'text/javascript'); s.setAttribute('type', 'application/json'); s.textContent = 'fetch("RAN")'; at.append(s)`,
  'a frame of markup in capitals': awake`const s = document.createElement('iframe'); s.setAttributeNS(null, 'SRCDOC', '<script>parent.fetch("RAN")<\\/script>'); at.append(s)`,
  'a comment that ends in itself': awake`at.append(document.createComment('--><script>fetch("RAN")<\\/script>'))`,
  'a comment that ends at once': awake`at.append(document.createComment('><script>fetch("RAN")<\\/script>'))`,
  'a comment that ends with a bang': awake`at.append(document.createComment('--!><script>fetch("RAN")<\\/script>'))`,
  'a processing instruction': awake`at.append(document.createProcessingInstruction('x', '><script>fetch("RAN")<\\/script>'))`,
  'a style that ends in itself': awake`const s = document.createElement('style'); s.textContent = '<\\/style><script>fetch("RAN")<\\/script>'; at.append(s)`,
  'data that ends in itself': awake`const s = document.createElement('script'); s.type = 'application/json'; s.textContent = '"<\\/script><script>fetch("RAN")<\\/script>"'; at.append(s)`,
  'a noscript that ends in itself': awake`const s = document.createElement('noscript'); s.textContent = '<\\/noscript><script>fetch("RAN")<\\/script>'; at.append(s)`,
  'a doctype that ends in itself': awake`document.replaceChild(document.implementation.createDocumentType('html', '"><script>fetch("RAN")<\\/script>', ''), document.doctype)`,
}

const STAY_AS_THEY_ARE = [
  '<style>p{color:red;;display:-x;display:flex}/* c */</style>',
  '<iframe src="/frame"></iframe>',
  '<script type="application/ld+json">{"a":"</b>"}</script>',
  '<script type="application/json" id="state">{}</script>',
  '<script type="text/x-handlebars"><b>{{x}}</b></script>',
  '<script type="text/javascript; charset=utf-8">data()</script>',
  '<script type="text/vbscript">data()</script>',
  '<script language="VBScript">data()</script>',
  '<script type="text/javascript1.6">data()</script>',
  '<p title="javascript: the good parts">x</p>',
  '<p one="1" on-tap="go">x</p>',
  '<template><script>inert()</script></template>',
  '<img src="data:image/svg+xml,%3Csvg/%3E">',
]

const CLICK = `<script>for (const e of document.querySelectorAll('a, area, button, svg a'))
  e.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }))</script>`
/** A form without its address is sent to its page. */
const STAY = `<script>addEventListener('submit', (event) => event.preventDefault())</script>`

/** Renders the page; returns which of these ways have run. */
async function render(page: string, ways: readonly string[], domain: string) {
  renderer.asked.length = 0
  renderer.routes.set('/page', page)
  const html = await renderer.html('/page', { domain })
  return { html, ran: ways.filter((_, at) => renderer.asked.includes(`/ran-${at}`)) }
}

for (const [what, ways, runsInPage] of [
  ['what runs in a page does not run in its snapshot', runs, true],
  ['what would run in the snapshot only does not run', awakes, false],
] as const) {
  it(what, async () => {
    const names = Object.keys(ways)
    const markup = Object.values(ways).map((way, at) => way.replaceAll('RAN', `ran-${at}`))
    const page = `<!doctype html><p>text</p><div id="at"></div>${markup.join('\n')}${CLICK}`
    const { html, ran } = await render(page, names, 'page.example')
    assert.match(html, /<p>text<\/p>/)
    if (runsInPage) {
      assert.deepEqual(ran, names)
      assert.doesNotMatch(html, /\bran-\d/)
    }
    // Of another domain: a known site's requests are sent ahead of its pages.
    assert.deepEqual((await render(html + STAY + CLICK, names, 'snapshot.example')).ran, [], html)
  })
}

it('data, unchanged styles and frames stay as they were written', async () => {
  renderer.routes.set('/frame', '<p>inside the frame')
  renderer.routes.set('/data', `<!doctype html><p>text</p>${STAY_AS_THEY_ARE.join('')}`)
  const html = await renderer.html('/data')
  for (const markup of STAY_AS_THEY_ARE) assert(html.includes(markup), `${markup} is not in ${html}`)
  assert.doesNotMatch(html, /inside the frame/)
})
