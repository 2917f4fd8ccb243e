import { page, type Theme } from '../corpus-page.ts'

const define = (name: string, mode: string, inner: string) =>
  `customElements.define('${name}', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: '${mode}' }).innerHTML = ${JSON.stringify(inner)} } })`

/** Content in shadow roots, which is nowhere in the document's own markup. */
export const shadowDom: Theme = {
  'slots, named and with fallbacks': {
    why: 'What is slotted stays in the light, its frame in the shadow.',
    document: page`<x-card><h2 slot="title">slotted title</h2>slotted body</x-card><script>${define('x-card', 'open', '<header><slot name="title">no title</slot></header><slot>no body</slot><footer><slot name="foot">usual foot</slot></footer>')}</script>`,
    expect: {
      reads: ['slotted title', 'slotted body', 'usual foot'],
      has: ['<slot name="title">', '<h2 slot="title">'],
    },
  },
  'rules inserted into a style of a shadow root': {
    why: 'Its element is empty, and no list of the document has its sheet.',
    document: page`<x-a></x-a><x-b></x-b><script>for (const [name, mode] of [['x-a', 'open'], ['x-b', 'closed']]) { const root = document.querySelector(name).attachShadow({ mode }); root.innerHTML = '<style></style><p>styled</p>'; root.querySelector('style').sheet.insertRule('p { color: ' + (mode === 'open' ? 'teal' : 'navy') + '; }') }</script>`,
    expect: {
      has: [
        /<x-a><template shadowrootmode="open"><style>p { color: teal; }<\/style>/,
        /<x-b><template shadowrootmode="[a-z]+"><style>p { color: navy; }<\/style>/,
      ],
    },
  },
  'closed shadow roots that the origin declared': {
    why: 'Made by the parser, before any script could take note of them.',
    limit: true,
    document: page`<h1>outside</h1><div><template shadowrootmode="closed"><p>declared closed</p></template></div>`,
    expect: { reads: ['outside'], readsNot: ['declared closed'] },
  },
  'roots of a form control': {
    why: 'delegatesFocus and the internals of an element are part of it.',
    document: page`<x-field></x-field><script>customElements.define('x-field', class extends HTMLElement { static formAssociated = true
          constructor() { super(); this.inner = this.attachInternals(); this.attachShadow({ mode: 'closed', delegatesFocus: true }).innerHTML = '<label>amount <input></label>' }
          connectedCallback() { this.inner.setFormValue('7'); this.inner.shadowRoot.querySelector('input').value = '7' } })</script>`,
    expect: { reads: ['amount'], has: [/shadowrootdelegatesfocus=""/, 'value="7"'] },
  },
  'elements defined late': {
    why: 'For a second they are unknown tags, and empty.',
    document: page`<x-late data-word="upgraded"></x-late><p id="out"></p><script>customElements.whenDefined('x-late').then(() => out.append('defined'))
          setTimeout(() => customElements.define('x-late', class extends HTMLElement { connectedCallback() { this.textContent = this.dataset.word } }), 1000)</script>`,
    expect: { reads: ['upgraded', 'defined'] },
  },
  'a built-in element that is extended': {
    why: 'Known by its `is`, not by its name.',
    document: page`<button is="x-button">plain</button><script>customElements.define('x-button', class extends HTMLButtonElement { connectedCallback() { this.textContent = 'extended' } }, { extends: 'button' })</script>`,
    expect: { reads: ['extended'], has: ['<button is="x-button">'] },
  },
  'images in a shadow root': {
    why: 'Observers of the document do not see into it, and pictures there load too.',
    document: page`<div id="host"></div><p id="out"></p><script>const root = host.attachShadow({ mode: 'closed' }); const img = document.createElement('img'); root.append(img); img.onload = () => out.append('loaded inside'); img.setAttribute('src', 'in.jpg')</script>`,
    expect: { reads: ['loaded inside'], has: ['src="in.jpg"'] },
  },
}
