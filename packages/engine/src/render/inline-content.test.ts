/** What a page makes of its own bytes and in frames of its own is in the snapshot, as it was at the end. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openRenderer, scripted } from '../../../../test/support/renderer.ts'

const renderer = await openRenderer()

type Case = { script: string; has: RegExp[]; hasNot?: RegExp[] }

const DRAWING = `new Blob(['<svg xmlns="http://www.w3.org/2000/svg" width="21" height="8"/>'], { type: 'image/svg+xml' })`
const frame = (more: string) =>
  `const frame = document.createElement('iframe'); ${more}; document.body.append(frame)`

const subjects: Record<string, Record<string, Case>> = {
  'a frame without an address': {
    'has what was typed and chosen in it': {
      script: `${frame(`frame.srcdoc = '<textarea></textarea><select><option>one<option>two</select><input type="checkbox">'`)}
        frame.onload = () => { const inner = frame.contentDocument; inner.querySelector('textarea').value = 'a letter'
          inner.querySelector('select').selectedIndex = 1; inner.querySelector('input').checked = true }`,
      has: [/a letter/, /option selected=(?:""|&quot;&quot;)&gt;two/, /checkbox&quot; checked/],
    },
    'has the shadow roots in it': {
      script: `${frame('')}; const host = frame.contentDocument.body.appendChild(frame.contentDocument.createElement('x-lock'))
        host.attachShadow({ mode: 'open' }).innerHTML = '<b>the ' + 'lock opens</b>'`,
      has: [/shadowrootmode=(?:"|&quot;)open(?:"|&quot;).*the lock opens/s],
    },
    'has what its scripts wrote although it is sandboxed, and none of the scripts': {
      script: frame(
        `frame.sandbox = 'allow-scripts'; frame.srcdoc = '<p id="out">empty</p><script>out.textContent = "kept " + "apart"</' + 'script>'`,
      ),
      has: [/kept apart/],
      hasNot: [/empty/, /textContent = (?:"|&quot;)kept/],
    },
    'of a data: address': {
      script: frame(`frame.src = 'data:text/html,<script>document.write("by " + "data")</' + 'script>'`),
      has: [/srcdoc="[^"]*by data/],
      hasNot: [/data:text/],
    },
    'of a blob, sandboxed': {
      script: frame(
        `frame.setAttribute('sandbox', ''); frame.src = URL.createObjectURL(new Blob(['<h2>Boxed ' + 'reeds</h2>'], { type: 'text/html' }))`,
      ),
      has: [/srcdoc="[^"]*Boxed reeds/],
      hasNot: [/blob:/],
    },
    'that is gone at the end leaves nothing': {
      script: `${frame(`frame.sandbox = ''; frame.srcdoc = '<p>gone ' + 'again</p>'`)}; setTimeout(() => { frame.remove(); show('end') }, 300)`,
      has: [/<li>end/],
      hasNot: [/gone again/],
    },
  },
  'an animation': {
    'in a shadow root keeps its last state': {
      script: `const root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'open' }); root.innerHTML = '<i>tide</i>'
        root.firstChild.animate([{ opacity: 0 }, { opacity: 0.7 }], { duration: 250, fill: 'forwards' })`,
      has: [/<i style="opacity: 0.7;">tide/],
    },
    'in a closed one does, too': {
      script: `const root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'closed' }); root.innerHTML = '<i>ebb</i>'
        root.firstChild.animate({ translate: ['0px', '4px'] }, { duration: 250, fill: 'both' })`,
      has: [/<i style="translate: 4px;">ebb/],
    },
  },
  'a picture': {
    'of a blob in srcset fires load, has its size, and its bytes stand in the page': {
      script: `const picture = new Image(); picture.onload = () => show(picture.naturalWidth + ' by ' + picture.naturalHeight)
        picture.srcset = URL.createObjectURL(${DRAWING}) + ' 2x'; document.body.append(picture)`,
      has: [/<li>21 by 8/, /<img src="data:image\/svg\+xml/],
      hasNot: [/blob:/, /srcset/],
    },
    'in an object or an embedded one fires load': {
      script: `document.body.insertAdjacentHTML('beforeend', '<object data="/a.gif" onload="show(1)"></object><embed src="/b" type="image/webp" onload="show(2)">')`,
      has: [/<li>1/, /<li>2/],
    },
  },
  'a film of the page’s own bytes': {
    'is read before the capture': {
      script: `const rate = 8000, tune = new DataView(new ArrayBuffer(44 + rate)); const text = (at, word) => [...word].forEach((c, n) => tune.setUint8(at + n, c.charCodeAt(0)))
        text(0, 'RIFF'); tune.setUint32(4, 36 + rate, true); text(8, 'WAVEfmt '); tune.setUint32(16, 16, true); tune.setUint16(20, 1, true); tune.setUint16(22, 1, true)
        tune.setUint32(24, rate, true); tune.setUint32(28, rate, true); tune.setUint16(32, 1, true); tune.setUint16(34, 8, true); text(36, 'data'); tune.setUint32(40, rate, true)
        const audio = new Audio(); audio.onloadedmetadata = () => show('lasts ' + audio.duration); audio.src = URL.createObjectURL(new Blob([tune], { type: 'audio/wav' }))`,
      has: [/<li>lasts 1</],
    },
    'that comes in pieces is not waited for': {
      script: `const film = document.createElement('video'); const source = new MediaSource(); film.onerror = () => show('error'); film.src = URL.createObjectURL(source)
        source.onsourceopen = () => show(source.readyState); setTimeout(() => show('end'), 500)`,
      has: [/<li>end/],
      hasNot: [/<li>error/],
    },
  },
}

for (const [subject, cases] of Object.entries(subjects)) {
  describe(subject, () => {
    for (const [behaviour, { script, has, hasNot = [] }] of Object.entries(cases)) {
      it(behaviour, async () => {
        renderer.routes.set('/page', scripted(script))
        const html = await renderer.html('/page')
        for (const pattern of has) assert.match(html, pattern)
        for (const pattern of hasNot) assert.doesNotMatch(html, pattern)
      })
    }
  })
}
