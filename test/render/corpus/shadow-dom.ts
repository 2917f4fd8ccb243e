import { page, type Theme } from '../corpus-page.ts'

const define = (name: string, mode: string, inner: string) =>
  `customElements.define('${name}', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: '${mode}' }).innerHTML = ${JSON.stringify(inner)} } })`

/** Content in shadow roots, which is nowhere in the document's own markup. */
export const shadowDom: Theme = {
  name: 'shadow-dom',
  pages: [
    {
      name: 'an open shadow root',
      why: 'outerHTML leaves it out.',
      routes: {
        '': page(`<x-open></x-open><script>${define('x-open', 'open', '<p>open inside</p>')}</script>`),
      },
      expect: { has: ['<x-open><template shadowrootmode="open"><p>open inside</p></template></x-open>'] },
    },
    {
      name: 'a closed shadow root',
      why: 'No script can reach it from outside, and people see it.',
      routes: {
        '': page(
          `<div id="host"></div><p id="out"></p><script>const root = host.attachShadow({ mode: 'closed' }); root.innerHTML = '<p>closed inside</p>'; out.append('root ' + host.shadowRoot + ', mode ' + root.mode)</script>`,
        ),
      },
      expect: { reads: ['closed inside', 'root null, mode closed'] },
    },
    {
      name: 'shadow roots in shadow roots',
      why: 'Five levels, open and closed in turns.',
      routes: {
        '': page(`<div id="top"></div><script>let host = top; for (let n = 0; n < 5; n++) { const root = (n === 0 ? document.getElementById('top') : host).attachShadow({ mode: n % 2 ? 'closed' : 'open' })
          root.innerHTML = '<p>level ' + n + '</p><div></div>'; host = root.querySelector('div') }</script>`),
      },
      expect: { reads: ['level 0', 'level 1', 'level 2', 'level 3', 'level 4'] },
    },
    {
      name: 'slots, named and with fallbacks',
      why: 'What is slotted stays in the light, its frame in the shadow.',
      routes: {
        '': page(
          `<x-card><h2 slot="title">slotted title</h2>slotted body</x-card><script>${define('x-card', 'open', '<header><slot name="title">no title</slot></header><slot>no body</slot><footer><slot name="foot">usual foot</slot></footer>')}</script>`,
        ),
      },
      expect: {
        reads: ['slotted title', 'slotted body', 'usual foot'],
        has: ['<slot name="title">', '<h2 slot="title">'],
      },
    },
    {
      name: 'one adopted sheet in many roots',
      why: 'The sheet has no element; each root needs its rules.',
      routes: {
        '': page(`<x-a></x-a><x-a></x-a><script>const sheet = new CSSStyleSheet(); sheet.replaceSync('p { color: teal }')
          customElements.define('x-a', class extends HTMLElement { connectedCallback() { const root = this.attachShadow({ mode: 'open' }); root.innerHTML = '<p>styled</p>'; root.adoptedStyleSheets = [sheet] } })</script>`),
      },
      expect: {
        has: [
          /(<x-a><template shadowrootmode="open"><p>styled<\/p><style>p { color: teal; }<\/style><\/template><\/x-a>){2}/,
        ],
      },
    },
    {
      name: 'rules inserted into a style of a shadow root',
      why: 'Its element is empty, and no list of the document has its sheet.',
      routes: {
        '': page(
          `<x-a></x-a><x-b></x-b><script>for (const [name, mode] of [['x-a', 'open'], ['x-b', 'closed']]) { const root = document.querySelector(name).attachShadow({ mode }); root.innerHTML = '<style></style><p>styled</p>'; root.querySelector('style').sheet.insertRule('p { color: ' + (mode === 'open' ? 'teal' : 'navy') + '; }') }</script>`,
        ),
      },
      expect: {
        has: [
          /<x-a><template shadowrootmode="open"><style>p { color: teal; }<\/style>/,
          /<x-b><template shadowrootmode="[a-z]+"><style>p { color: navy; }<\/style>/,
        ],
      },
    },
    {
      name: 'shadow roots that the origin declared',
      why: 'Server-rendered components come with their roots; those must be kept once, not twice.',
      routes: {
        '': page(`<x-done><template shadowrootmode="open"><p>declared by the origin</p></template></x-done>`),
      },
      expect: {
        has: [/<template shadowrootmode="open"[^>]*><p>declared by the origin<\/p><\/template><\/x-done>/],
        hasNot: [/(declared by the origin)[\s\S]*\1/],
      },
    },
    {
      name: 'closed shadow roots that the origin declared',
      why: 'Made by the parser, before any script could take note of them.',
      limit: true,
      routes: {
        '': page(
          `<h1>outside</h1><div><template shadowrootmode="closed"><p>declared closed</p></template></div>`,
        ),
      },
      expect: { reads: ['outside'], readsNot: ['declared closed'] },
    },
    {
      name: 'roots of a form control',
      why: 'delegatesFocus and the internals of an element are part of it.',
      routes: {
        '': page(`<x-field></x-field><script>customElements.define('x-field', class extends HTMLElement { static formAssociated = true
          constructor() { super(); this.inner = this.attachInternals(); this.attachShadow({ mode: 'closed', delegatesFocus: true }).innerHTML = '<label>amount <input></label>' }
          connectedCallback() { this.inner.setFormValue('7'); this.inner.shadowRoot.querySelector('input').value = '7' } })</script>`),
      },
      expect: { reads: ['amount'], has: [/shadowrootdelegatesfocus=""/, 'value="7"'] },
    },
    {
      name: 'elements defined late',
      why: 'For a second they are unknown tags, and empty.',
      routes: {
        '': page(`<x-late data-word="upgraded"></x-late><p id="out"></p><script>customElements.whenDefined('x-late').then(() => out.append('defined'))
          setTimeout(() => customElements.define('x-late', class extends HTMLElement { connectedCallback() { this.textContent = this.dataset.word } }), 1000)</script>`),
      },
      expect: { reads: ['upgraded', 'defined'] },
    },
    {
      name: 'a built-in element that is extended',
      why: 'Known by its `is`, not by its name.',
      routes: {
        '': page(
          `<button is="x-button">plain</button><script>customElements.define('x-button', class extends HTMLButtonElement { connectedCallback() { this.textContent = 'extended' } }, { extends: 'button' })</script>`,
        ),
      },
      expect: { reads: ['extended'], has: ['<button is="x-button">'] },
    },
    {
      name: 'images in a shadow root',
      why: 'Observers of the document do not see into it, and pictures there load too.',
      routes: {
        '': page(
          `<div id="host"></div><p id="out"></p><script>const root = host.attachShadow({ mode: 'closed' }); const img = document.createElement('img'); root.append(img); img.onload = () => out.append('loaded inside'); img.setAttribute('src', 'in.jpg')</script>`,
        ),
      },
      expect: { reads: ['loaded inside'], has: ['src="in.jpg"'] },
    },
    {
      name: 'scripts in a shadow root',
      why: 'What is executable is taken out everywhere.',
      routes: {
        '': page(
          `<div id="host"></div><script>const root = host.attachShadow({ mode: 'open' }); root.append('content'); const s = document.createElement('script'); s.textContent = 'window.ran = true'; root.append(s); const b = document.createElement('b'); b.setAttribute('onclick', 'x()'); root.append(b)</script>`,
        ),
      },
      expect: { reads: ['content'], hasNot: ['window.ran', 'onclick'] },
    },
  ],
}
