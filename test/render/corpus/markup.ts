import { scripted } from '../../support/renderer.ts'
import { html, page, script, css as sheet, type Theme } from '../corpus-page.ts'

/** How a document comes and is written down: its head, rules, fields, pictures and shadow roots. */
export const markup: Theme = {
  'the markers of frameworks': {
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
    parts: { 'sub/x.txt': html('from sub', { type: 'text/plain' }) },
    expect: {
      reads: ['from sub'],
      has: [/<base href="sub\/">/, '<a href="next">'],
      hasNot: [/<base[\s\S]*<base/],
    },
  },
  'bytes in windows-1252 by meta': {
    document: html(
      Buffer.from(
        '<!DOCTYPE html><meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><title>t</title><p>na\xefve</p>',
        'latin1',
      ),
      { type: 'text/html' },
    ),
    expect: { reads: ['naïve'], has: ['<meta charset="utf-8">'], hasNot: ['iso-8859-1'] },
  },
  'a document as XHTML': {
    document: html(
      '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>t</title></head><body><p id="out"/><script>document.getElementById("out").append("by XML")</script><br/><p>after</p></body></html>',
      { type: 'application/xhtml+xml' },
    ),
    expect: { reads: ['by XML', 'after'], hasNot: ['</br>'] },
  },
  'a page under a strict policy': {
    document: html('<!DOCTYPE html><title>t</title><p id="out"></p><script src="own.js"></script>', {
      headers: {
        'content-security-policy':
          "default-src 'self'; script-src 'self'; require-trusted-types-for 'script'",
      },
    }),
    parts: {
      'own.js': script`setTimeout(() => requestAnimationFrame(() => out.append('under policy')), 500)`,
    },
    expect: { reads: ['under policy'] },
  },
  'a sheet that the document adopts': {
    document: page`<p>styled</p><script>const s = new CSSStyleSheet({ media: 'print' }); s.replaceSync('p { color: teal }'); const t = new CSSStyleSheet(); t.replaceSync('p { margin: 0px }'); t.disabled = true; document.adoptedStyleSheets = [s, t]</script>`,
    expect: { has: ['<style media="print">p { color: teal; }</style></head>'], hasNot: ['margin: 0px'] },
  },
  'rules changed after they were written': {
    document: page(
      `<p class="a">styled</p><script>const [rules] = [document.querySelector('style').sheet]; rules.cssRules[0].style.color = 'red'; rules.deleteRule(1); rules.insertRule('.c { color: blue; }', 1)</script>`,
      '<style>.a { color: teal } .b { color: gray }</style>',
    ),
    expect: { has: [/\.a { color: red; }\s*\.c { color: blue; }/], hasNot: ['gray'] },
  },
  'a sheet that is switched off': {
    document: page(
      '<p>styled</p><script>document.querySelector("style").sheet.disabled = true</script>',
      '<style>p { color: teal }</style>',
    ),
    expect: { has: ['<style media="not all">'] },
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
  'details, dialogs and popovers': {
    document: page`<details id="d"><summary>more</summary>opened text</details><dialog id="m">modal text</dialog><div popover id="p">popover text</div><script>d.open = true; m.showModal(); p.showPopover(); d.addEventListener('toggle', () => document.body.append('toggled'))</script>`,
    expect: {
      reads: ['opened text', 'modal text', 'popover text', 'toggled'],
      has: ['<details id="d" open="">', '<dialog id="m" open="">'],
    },
  },
  'bars, outputs and editable text': {
    document: page`<progress id="p" max="10"></progress><meter id="m" max="10"></meter><output id="o"></output><div contenteditable id="e"></div><button id="b">send</button><script>p.value = 4; m.value = 6; o.value = 'sum 12'; e.textContent = 'typed here'; b.disabled = true</script>`,
    expect: {
      reads: ['sum 12', 'typed here'],
      has: [/<progress[^>]* value="4"/, /<meter[^>]* value="6"/, /<button[^>]* disabled=""/],
    },
  },
  'fields that shadow the names of the document': {
    document: page`<form id="f"><input name="shadowRoot" value="s"><input name="children"><input name="attributes"><input name="parentElement"><input name="removeAttribute"></form>
          <form name="documentElement"></form><form name="head"></form><form name="querySelectorAll"></form><img name="body" src="b.jpg"><form name="doctype"></form><form name="adoptedStyleSheets"></form><form name="createElement"></form><form name="evaluate"></form>
          <p>and yet a page</p><script>1</script>`,
    expect: { reads: ['and yet a page'], has: [/^<!DOCTYPE html>\n<html lang="en">/, 'name="shadowRoot"'] },
  },
  'images that load lazily by themselves': {
    document: page`<div style="height: 20000px"></div><img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">`,
    expect: { has: [/<img loading="lazy" src="far.jpg" alt="far away" srcset="far-2.jpg 2x">/] },
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
  'an SVG made by script': {
    document: page`<div id="chart"></div><script>const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg'); svg.setAttribute('viewBox', '0 0 10 10')
          const text = document.createElementNS(ns, 'text'); text.textContent = 'tons & barrels'; const box = document.createElementNS(ns, 'foreignObject'); box.innerHTML = '<p xmlns="http://www.w3.org/1999/xhtml">in the box</p>'
          const use = document.createElementNS(ns, 'use'); use.setAttributeNS('http://www.w3.org/1999/xlink', 'xlink:href', '#icon'); svg.append(text, box, use); chart.append(svg)</script>`,
    expect: {
      reads: ['tons & barrels', 'in the box'],
      has: ['viewBox="0 0 10 10"', '<foreignObject>', 'xlink:href="#icon"'],
    },
  },
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
  'images in a shadow root': {
    document: page`<div id="host"></div><p id="out"></p><script>const root = host.attachShadow({ mode: 'closed' }); const img = document.createElement('img'); root.append(img); img.onload = () => out.append('loaded inside'); img.setAttribute('src', 'in.jpg')</script>`,
    expect: { reads: ['loaded inside'], has: ['src="in.jpg"'] },
  },
}
