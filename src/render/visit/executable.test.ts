/**
 * Nothing in a snapshot runs. Each row runs in its page, which proves that it can, and not in the snapshot, which is
 * opened in the browser and clicked through. Rows follow HTML, "prepare the script element", and its other ways to run.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRenderer } from '../../../test/support/renderer.ts'

const renderer = await openRenderer()

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
  'a handler in capitals': awake`const s = document.createElement('img'); s.setAttributeNS(null, 'src', 'data:image/gif;base64,R0lGODlhAQABAAAAACw='); s.setAttributeNS(null, 'ONLOAD', 'fetch("RAN")'); at.append(s)`,
  'a comment that ends in itself': awake`at.append(document.createComment('--><script>fetch("RAN")<\\/script>'))`,
  'a comment that ends at once': awake`at.append(document.createComment('><script>fetch("RAN")<\\/script>'))`,
  'a comment that ends with a bang': awake`at.append(document.createComment('--!><script>fetch("RAN")<\\/script>'))`,
  'a processing instruction': awake`at.append(document.createProcessingInstruction('x', '><script>fetch("RAN")<\\/script>'))`,
  'a style that ends in itself': awake`const s = document.createElement('style'); s.textContent = '<\\/style><script>fetch("RAN")<\\/script>'; at.append(s)`,
  'data that ends in itself': awake`const s = document.createElement('script'); s.type = 'application/json'; s.textContent = '"<\\/script><script>fetch("RAN")<\\/script>"'; at.append(s)`,
  'a noscript that ends in itself': awake`const s = document.createElement('noscript'); s.textContent = '<\\/noscript><script>fetch("RAN")<\\/script>'; at.append(s)`,
  'a doctype that ends in itself': awake`document.replaceChild(document.implementation.createDocumentType('html', '"><script>fetch("RAN")<\\/script>', ''), document.doctype)`,
}

const isData: Record<string, string> = {
  'JSON-LD': '<script type="application/ld+json">{"a":"</b>"}</script>',
  JSON: '<script type="application/json" id="state">{}</script>',
  'a template': '<script type="text/x-handlebars"><b>{{x}}</b></script>',
  'a type with a parameter': '<script type="text/javascript; charset=utf-8">data()</script>',
  'a type of another language': '<script type="text/vbscript">data()</script>',
  'another language': '<script language="VBScript">data()</script>',
  'JavaScript 1.6': '<script type="text/javascript1.6">data()</script>',
  'words about scripts': '<p title="javascript: the good parts">x</p>',
  'a name that looks like a handler': '<p one="1" on-tap="go">x</p>',
  'a plain template': '<template><script>inert()</script></template>',
  'a picture as data': '<img src="data:image/svg+xml,%3Csvg/%3E">',
}

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

it('what is data stays', async () => {
  const { html } = await render(
    `<!doctype html><p>text</p>${Object.values(isData).join('')}`,
    [],
    'a.example',
  )
  assert.deepEqual(
    Object.keys(isData).filter((name) => !html.includes(isData[name]!)),
    [],
    html,
  )
})
