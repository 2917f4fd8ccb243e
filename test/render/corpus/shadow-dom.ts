import { page, type Theme } from '../corpus-page.ts'

/** Content in shadow roots, which is nowhere in the document's own markup. */
export const shadowDom: Theme = {
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
