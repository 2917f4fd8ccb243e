import { brotliCompressSync } from 'node:zlib'
import { scripted } from '../../support/renderer.ts'
import { answer, page, script, css as sheet, type Theme } from '../corpus-page.ts'

/** How a document comes, what crawlers read of it before anything else, and how it is written down. */
export const head: Theme = {
  'the markers of frameworks': {
    why: 'Empty comments and numbers, by the thousand, that only a script would read; what authors wrote stays.',
    document: page`<!-- of the author --><!--noindex--><p id="out">one<!-- -->two<!----><!--[--><!--]--><!--$--><!--/$--><!--v-if--><!--ng-container--><!--?lit$123$--><!--lit-part abc--><!--/lit-part--></p><!--/noindex-->`,
    expect: {
      reads: ['onetwo'],
      has: ['<!-- of the author -->', '<!--noindex-->', '<!--/noindex-->', '<p id="out">onetwo</p>'],
    },
  },
  'a base of its own': {
    document: page(
      '<p id="out"></p><a href="next">next</a><script>fetch("x.txt").then((r) => r.text()).then((text) => out.append(text))</script>',
      '<base href="sub/">',
    ),
    parts: { 'sub/x.txt': 'from sub' },
    expect: {
      reads: ['from sub'],
      has: [/<base href="sub\/">/, '<a href="next">'],
      hasNot: [/<base[\s\S]*<base/],
    },
  },
  'bytes in windows-1252 by meta': {
    why: 'A declaration left as it was would make two of each accented letter.',
    document: answer(
      Buffer.from(
        '<!DOCTYPE html><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>t</title><p>na\xefve</p>',
        'latin1',
      ),
      { 'content-type': 'text/html' },
    ),
    expect: { reads: ['naïve'], has: ['<meta charset="utf-8">'], hasNot: ['iso-8859-1'] },
  },
  'a document as XHTML': {
    document: answer(
      '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>t</title></head><body><p id="out"/><script>document.getElementById("out").append("by XML")</script><br/><p>after</p></body></html>',
      { 'content-type': 'application/xhtml+xml' },
    ),
    expect: { reads: ['by XML', 'after'], hasNot: ['</br>'] },
  },
  'structures that a parser would not build': {
    why: 'Scripts nest what HTML forbids; a crawler parses it anew, and has to find every word.',
    document: page`<div id="out"></div><script>const make = (name, ...inner) => { const e = document.createElement(name); e.append(...inner); return e }
          out.append(make('p', 'a', make('div', 'b'), 'c'), make('a', 'd', make('a', 'e')), make('table', make('tr', make('td', 'f'))), make('pre', '\\n\\ng'), make('button', make('button', 'h')), make('ul', make('p', 'i')))</script>`,
    expect: { reads: ['a b c'] },
  },
  'a page chosen by its query': {
    at: 'caf%C3%A9?b=2&a=%20x',
    parts: {
      'caf%C3%A9': (request, response) =>
        void response
          .setHeader('content-type', 'text/html')
          .end(
            scripted`show(${JSON.stringify(`sent ${request.url?.split('/').at(-1)}`)}); show('read ' + decodeURIComponent(location.pathname).split('/').at(-1) + location.search)`,
          ),
    },
    expect: { reads: ['sent caf%C3%A9?b=2&a=%20x', 'read café?b=2&a=%20x'] },
  },
  'a page in brotli': {
    document: answer(brotliCompressSync(page`<p>unpacked</p>`), { 'content-encoding': 'br' }),
    expect: { reads: ['unpacked'] },
  },
  'a page in a sandbox': {
    document: answer(page`<p id="out">without scripts</p><script>out.textContent = "wrong"</script>`, {
      'content-security-policy': 'sandbox',
    }),
    expect: { reads: ['without scripts'] },
  },
  'a page under a strict policy': {
    document: answer('<!DOCTYPE html><title>t</title><p id="out"></p><script src="own.js"></script>', {
      'content-security-policy': "default-src 'self'; script-src 'self'; require-trusted-types-for 'script'",
    }),
    parts: {
      'own.js': script`setTimeout(() => requestAnimationFrame(() => out.append('under policy')), 500)`,
    },
    expect: { reads: ['under policy'] },
  },
}

/** Rules that are in no markup. */
export const css: Theme = {
  'a sheet that the document adopts': {
    document: page`<p>styled</p><script>const s = new CSSStyleSheet({ media: 'print' }); s.replaceSync('p { color: teal }'); const t = new CSSStyleSheet(); t.replaceSync('p { margin: 0px }'); t.disabled = true; document.adoptedStyleSheets = [s, t]</script>`,
    expect: { has: ['<style media="print">p { color: teal; }</style></head>'], hasNot: ['margin: 0px'] },
  },
  'rules changed after they were written, and a sheet that is switched off': {
    document: page(
      `<p class="a">styled</p><script>const [rules, off] = document.styleSheets; rules.cssRules[0].style.color = 'red'; rules.deleteRule(1); rules.insertRule('.c { color: blue; }', 1); off.disabled = true</script>`,
      '<style>.a { color: teal } .b { color: gray }</style><style>p { color: teal }</style>',
    ),
    expect: {
      has: [/\.a { color: red; }\s*\.c { color: blue; }/, '<style media="not all">'],
      hasNot: ['gray'],
    },
  },
  'a sheet that is loaded without blocking': {
    document: page(
      '<p>styled</p>',
      `<link rel="preload" as="style" href="late.css" onload="this.onload=null;this.rel='stylesheet'"><link rel="stylesheet" href="print.css" media="print" onload="this.media='all'">`,
    ),
    parts: { 'late.css': sheet('p { color: teal }', 60), 'print.css': sheet('p { margin: 0 }', 60) },
    expect: {
      has: [/<link rel="stylesheet"[^>]* href="late.css"/, /href="print.css" media="all"/],
      hasNot: ['onload'],
    },
  },
  'a page hidden until its style has come': {
    document: page(
      `<p>shown</p><script>document.documentElement.classList.add('hide'); setTimeout(() => document.documentElement.classList.remove('hide'), 4000)</script>`,
      '<style>.hide { opacity: 0 !important }</style>',
    ),
    expect: { reads: ['shown'], hasNot: [/<html[^>]*class="hide"/] },
  },
  'layers, nesting, containers and imports': {
    document: page(
      `<p class="a">styled</p><script>const { sheet } = document.querySelector('style'); sheet.insertRule('@layer base { .a { color: teal; & b { color: red; } } }', sheet.cssRules.length)
          sheet.insertRule('@container (width > 9px) { .a { margin: 1px; } }', sheet.cssRules.length)</script>`,
      '<style>@import "more.css"; .z { color: gray }</style>',
    ),
    parts: { 'more.css': sheet('.m { color: gray }') },
    expect: {
      has: [
        /<style>@import url\("more\.css"\);/,
        /@layer base {\s*\.a {\s*color: teal;\s*& b { color: red; }/,
        '@container (width > 9px)',
      ],
    },
  },
  'rules added to a linked sheet': {
    limit: true,
    document: page(
      `<p class="a">styled</p><script>document.querySelector('link').sheet.insertRule('.a { color: teal; }')</script>`,
      '<link rel="stylesheet" href="own.css">',
    ),
    parts: { 'own.css': sheet('p { margin: 0 }') },
    expect: { reads: ['styled'], has: ['href="own.css"'], hasNot: ['teal'] },
  },
}

/** What was typed, ticked, chosen or opened lives in properties. */
export const forms: Theme = {
  'values that were typed, bars, outputs and editable text': {
    document: page`<input id="a" value="old"><input id="n" type="number"><input id="r" type="range" max="10"><input id="h" type="hidden"><textarea id="t">old text</textarea>
          <progress id="p" max="10"></progress><meter id="m" max="10"></meter><output id="o"></output><div contenteditable id="e"></div><button id="b">send</button><script>
          a.value = 'new "value"'; n.value = 7; r.value = 3; h.value = 'kept'; t.value = 'new </textarea> text'
          p.value = 4; m.value = 6; o.value = 'sum 12'; e.textContent = 'typed here'; b.disabled = true</script>`,
    expect: {
      reads: ['new </textarea> text', 'sum 12', 'typed here'],
      readsNot: ['old'],
      has: [
        ...['value="new &quot;value&quot;"', 'type="number" value="7"', 'type="hidden" value="kept"'],
        ...[/type="range"[^>]* value="3"/, /<progress[^>]* value="4"/, /<meter[^>]* value="6"/],
        /<button[^>]* disabled=""/,
      ],
    },
  },
  'details, dialogs and popovers': {
    document: page`<details id="d"><summary>more</summary>opened text</details><dialog id="m">modal text</dialog><div popover id="p">popover text</div><script>d.open = true; m.showModal(); p.showPopover(); d.addEventListener('toggle', () => document.body.append('toggled'))</script>`,
    expect: {
      reads: ['opened text', 'modal text', 'popover text', 'toggled'],
      has: ['<details id="d" open="">', '<dialog id="m" open="">'],
    },
  },
  'fields that shadow the names of the document': {
    why: 'A form or image named like a property of its parent hides that property from every script.',
    document: page`<form id="f"><input name="shadowRoot" value="s"><input name="children"><input name="attributes"><input name="parentElement"><input name="removeAttribute"></form>
          <form name="documentElement"></form><form name="head"></form><form name="querySelectorAll"></form><img name="body" src="b.jpg"><form name="doctype"></form><form name="adoptedStyleSheets"></form><form name="createElement"></form><form name="evaluate"></form>
          <p>and yet a page</p><script>1</script>`,
    expect: { reads: ['and yet a page'], has: [/^<!DOCTYPE html>\n<html lang="en">/, 'name="shadowRoot"'] },
  },
}

const GIF = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

/** Pictures are not fetched, and yet the page must do all that it does once they are there. */
export const images: Theme = {
  'images that load lazily by themselves, and a picture of many sources': {
    document: page`<picture><source srcset="wide.avif" type="image/avif"><source srcset="wide.webp" media="(min-width: 800px)"><img src="plain.jpg" alt="all of them"></picture><p id="out"></p><script>
          document.querySelector('img').addEventListener('load', () => out.append('picture loaded'))</script>
          <div style="height: 20000px"></div><img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">`,
    expect: {
      reads: ['picture loaded'],
      has: [
        ...['wide.avif', 'wide.webp', 'plain.jpg'],
        '<img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">',
      ],
    },
  },
  'data-src swapped in by an observer': {
    document: page`<div style="height: 20000px"></div><img class="lazy" src="${GIF}" data-src="real-1.jpg"><img class="lazy" data-src="real-2.jpg"><script>
          const seen = new IntersectionObserver((entries) => { for (const { isIntersecting, target } of entries) if (isIntersecting) { target.src = target.dataset.src; seen.unobserve(target) } })
          for (const img of document.querySelectorAll('.lazy')) seen.observe(img)</script>`,
    expect: { has: [/ src="real-1.jpg"/, / src="real-2.jpg"/] },
  },
  'a placeholder that goes when the picture has loaded': {
    document: page`<figure><p id="wait">loading picture</p><img id="pic" src="real.jpg" hidden></figure><script>
          pic.onload = () => { wait.remove(); pic.hidden = false }; pic.onerror = () => { wait.textContent = 'picture is broken' }</script>`,
    expect: { readsNot: ['loading', 'broken'], has: ['<img id="pic" src="real.jpg">'] },
  },
  'pictures fetched ahead by new Image': {
    document: scripted`Promise.all(['a.jpg', 'b.jpg', 'c.jpg'].map((src) => new Promise((done, fail) => { const img = new Image(); img.onload = () => done(img); img.onerror = fail; img.src = src })))
          .then(async (all) => { await Promise.all(all.map((img) => img.decode())); show('gallery of ' + all.filter(({ complete, naturalWidth }) => complete && naturalWidth > 0).length) }, () => show('broken'))`,
    expect: { reads: ['gallery of 3'] },
  },
  'video and audio': {
    document: page`<video poster="still.jpg" controls><source src="film.mp4" type="video/mp4"><track src="en.vtt" kind="captions"></video><audio src="sound.mp3" autoplay></audio><p id="out"></p><script>
          document.querySelector('video').play().catch(() => {}); setTimeout(() => out.append('beside the film'), 1500)</script>`,
    expect: {
      reads: ['beside the film'],
      has: ['<video poster="still.jpg" controls="">', 'film.mp4', 'sound.mp3', 'en.vtt'],
    },
  },
  'text that is drawn on a canvas': {
    limit: true,
    document: page`<canvas width="300" height="50">fallback words</canvas><script>document.querySelector('canvas').getContext('2d').fillText('drawn words', 10, 20)</script>`,
    expect: {
      reads: ['fallback words'],
      readsNot: ['drawn words'],
      has: ['<canvas width="300" height="50">'],
    },
  },
  'a scene of WebGL': {
    limit: true,
    document: page`<h1>ferries</h1><canvas></canvas><p id="out"></p><script>const gl = document.querySelector('canvas').getContext('webgl')
          const make = (type, source) => { const shader = gl.createShader(type); gl.shaderSource(shader, source); gl.compileShader(shader); return shader }
          const draw = () => {
            const program = gl.createProgram()
            gl.attachShader(program, make(gl.VERTEX_SHADER, 'void main() { gl_PointSize = 9.0; gl_Position = vec4(0, 0, 0, 1); }'))
            gl.attachShader(program, make(gl.FRAGMENT_SHADER, 'void main() { gl_FragColor = vec4(1); }'))
            gl.linkProgram(program); gl.useProgram(program); gl.drawArrays(gl.POINTS, 0, 1)
            const pixel = new Uint8Array(4)
            gl.readPixels(150, 75, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel)
            return pixel[0] }
          out.append('the middle is ' + (gl === null ? 0 : draw()))</script>`,
    expect: { reads: ['ferries', 'the middle is 0'] },
  },
  'data images, sound, broken, and made of a canvas': {
    document: page`<p id="out"></p><script>const c = document.createElement('canvas'); c.width = c.height = 2; c.getContext('2d').fillRect(0, 0, 2, 2)
          for (const [alt, src] of [['sound', '${GIF}'], ['damaged', 'data:image/gif;base64,AAAA'], ['chart', c.toDataURL()]]) { const img = Object.assign(new Image(), { alt })
            img.onload = () => out.append(img, alt + ' loads, '); img.onerror = () => out.append(alt + ' fails, '); img.src = src }
          c.toBlob((blob) => out.append('blob of ' + (blob.size > 0)))</script>`,
    expect: {
      reads: ['sound loads,', 'damaged fails,', 'chart loads,', 'blob of true'],
      has: [/<img alt="chart" src="data:image\/png;base64,/],
    },
  },
}

/** Content in shadow roots, which is nowhere in the document's own markup. */
export const shadows: Theme = {
  'rules inserted into a style of a shadow root': {
    document: page`<x-a></x-a><x-b></x-b><script>for (const [name, mode] of [['x-a', 'open'], ['x-b', 'closed']]) { const root = document.querySelector(name).attachShadow({ mode }); root.innerHTML = '<style></style><p>styled</p>'; root.querySelector('style').sheet.insertRule('p { color: ' + (mode === 'open' ? 'teal' : 'navy') + '; }') }</script>`,
    expect: {
      has: [
        /<x-a><template shadowrootmode="open"><style>p { color: teal; }<\/style>/,
        /<x-b><template shadowrootmode="[a-z]+"><style>p { color: navy; }<\/style>/,
      ],
    },
  },
  'closed shadow roots that the origin declared': {
    limit: true,
    document: page`<h1>outside</h1><div><template shadowrootmode="closed"><p>declared closed</p></template></div>`,
    expect: { reads: ['outside'], readsNot: ['declared closed'] },
  },
  'roots of a form control': {
    document: page`<x-field></x-field><script>customElements.define('x-field', class extends HTMLElement { static formAssociated = true
          constructor() { super(); this.inner = this.attachInternals(); this.attachShadow({ mode: 'closed', delegatesFocus: true }).innerHTML = '<label>amount <input></label>' }
          connectedCallback() { this.inner.setFormValue('7'); this.inner.shadowRoot.querySelector('input').value = '7' } })</script>`,
    expect: { reads: ['amount'], has: [/shadowrootdelegatesfocus=""/, 'value="7"'] },
  },
  'elements defined late, with images in their shadow roots': {
    why: 'Observers of the document do not see into it, and pictures there load too.',
    document: page`<x-late data-word="upgraded"></x-late><p id="out"></p><script>customElements.whenDefined('x-late').then(() => out.append('defined, '))
          setTimeout(() => customElements.define('x-late', class extends HTMLElement { connectedCallback() { const root = this.attachShadow({ mode: 'closed' }); root.append(this.dataset.word)
            const img = document.createElement('img'); root.append(img); img.onload = () => out.append('loaded inside'); img.setAttribute('src', 'in.jpg') } }), 1000)</script>`,
    expect: { reads: ['upgraded', 'defined, loaded inside'], has: ['src="in.jpg"'] },
  },
}
