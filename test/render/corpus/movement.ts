import { scripted } from '../../support/renderer.ts'
import { json, type Theme } from '../corpus-page.ts'

const ROW = `const box = document.createElement('div'); document.body.append(box)`

/** Scrolling, transitions, dialogs and ways through history: what is told with a frame, or comes about in a moment of its own. */
export const movement: Theme = {
  'a page that scrolls itself and builds as it goes': {
    why: 'Scroll events come with frames; a smooth way takes many of them.',
    document: scripted`document.body.style.height = '9000px'; addEventListener('scroll', () => show('page at ' + scrollY), { once: true }); document.addEventListener('scrollend', () => show('page arrived'), { once: true }); scrollTo({ top: 500, behavior: 'smooth' })
          ${ROW}; box.style.cssText = 'height:100px;overflow:auto'; box.innerHTML = '<p style=height:5000px>list<p id=last>'
          box.onscroll = () => show('list at ' + (box.scrollTop > 0)); box.addEventListener('scrollend', () => show('list arrived')); setTimeout(() => document.querySelector('#last').scrollIntoView({ behavior: 'smooth' }), 300)
          let told = 0; const other = box.cloneNode(); other.innerHTML = '<p style=height:5000px>'; document.body.append(other); other.onscroll = () => told++; other.scrollTop = 50; other.scrollTop = 60; setTimeout(() => show('told ' + told), 400)`,
    expect: { reads: ['page at 500', 'page arrived', 'list at true', 'list arrived', 'told 1'] },
  },
  'dialogs that are closed, and popovers that open': {
    why: 'A dialog tells that it was closed with the next frame; a consent wall gives way to the page then.',
    document: scripted`const dialog = document.createElement('dialog'); dialog.textContent = 'We value your privacy'; document.body.append(dialog); dialog.showModal(); let closed = 0
          dialog.addEventListener('close', () => { show('consent ' + dialog.returnValue + ' ' + ++closed); dialog.remove() }); setTimeout(() => dialog.close('given'), 200)
          ${ROW}; box.popover = 'auto'; box.addEventListener('toggle', ({ newState }) => show('popover ' + newState)); box.showPopover()`,
    expect: { reads: ['consent given 1', 'popover open'], readsNot: ['privacy', 'given 2'] },
  },
  'a router within view transitions': {
    why: 'Each change of view is made in a callback that waits for a frame, of the document or of one element.',
    document: scripted`navigation.addEventListener('navigate', (event) => event.intercept({ async handler() {
            const transition = document.startViewTransition({ async update() { const { text } = await (await fetch('data.json')).json(); show(text) }, types: ['forward'] })
            show('typed ' + (transition instanceof ViewTransition && transition.types.has('forward'))); await transition.ready
            await document.documentElement.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300, pseudoElement: '::view-transition-new(root)' }).finished; show('moved in')
            if (out.startViewTransition) await out.startViewTransition(() => show('part of it')).finished; else show('part of it'); show('done') } }))
          addEventListener('load', () => setTimeout(() => { const link = document.createElement('a'); link.href = '?view'; document.body.append(link); link.click(); navigation.addEventListener('navigatesuccess', () => show('at ' + location.search)) }))`,
    parts: { 'data.json': json({ text: 'the view' }) },
    expect: { reads: ['typed true', 'the view', 'moved in', 'part of it', 'done', 'at ?view'] },
  },
  'events as observables': {
    why: 'The end of an animation is listened to without addEventListener.',
    document: scripted(
      `${ROW}; box.textContent = 'moves'; if (!box.when) show('animation over, click seen'); else { box.when('animationend').subscribe(() => show('animation over, click seen')) }`,
      '<style>@keyframes in { from { opacity: 0 } } div { animation: in 700ms }</style>',
    ),
    expect: { reads: ['animation over, click seen'] },
  },
  'elements that move between documents': {
    why: 'Reactions run when they are adopted, moved and form-associated, each in a document with our scripts.',
    document: scripted`customElements.define('x-field', class extends HTMLElement { static formAssociated = true; #inner = this.attachInternals()
            connectedCallback() { this.#inner.setFormValue('sent'); this.#inner.states.add('ready'); if (this.matches(':state(ready)')) show('state is on') }
            adoptedCallback() { show('adopted') } connectedMoveCallback() { show('moved') } formAssociatedCallback(form) { if (form) show('in form ' + form.id) } })
          const form = document.createElement('form'); form.id = 'f'; const field = document.createElement('x-field'); field.setAttribute('name', 'n'); form.append(field); document.body.append(form); show('value ' + new FormData(form).get('n'))
          const other = document.createElement('section'); form.append(other); other.moveBefore?.(field, null) ?? show('moved'); document.implementation.createHTMLDocument('').adoptNode(field); document.body.append(field); customElements.whenDefined('x-late').then(() => show('late one')); setTimeout(() => customElements.define('x-late', class extends HTMLElement {}), 500)`,
    expect: { reads: ['state is on', 'in form f', 'value sent', 'adopted', 'late one'] },
  },
  'parts that are drawn when they come near': {
    why: 'What is skipped while far away has its text, and a script that waits for its turn gets it.',
    document: scripted(
      `${ROW}; box.className = 'far'; box.textContent = 'far below'; const near = box.cloneNode(true); near.style.margin = 0; near.textContent = 'near'; document.body.prepend(near); show('rows ' + (document.querySelectorAll('.far').length)); near.addEventListener('contentvisibilityautostatechange', () => show('its turn'))`,
      '<style>.far { content-visibility: auto; contain-intrinsic-size: auto 500px; margin-top: 9000px; animation: in linear; animation-timeline: view() } @keyframes in { from { opacity: 0 } }</style>',
    ),
    expect: { reads: ['far below', 'near', 'rows 2', 'its turn'] },
  },
  'a frame that loads when it comes near': {
    why: 'Without a visitor nothing comes near, and frames are left as they are: what the page makes of its message is not there.',
    limit: true,
    document: scripted`show('the page'); addEventListener('message', ({ data }) => show(data)); ${ROW}; box.innerHTML = '<iframe loading="lazy" src="frame" style="margin-top:9000px"></iframe>'`,
    parts: { frame: `<script>parent.postMessage('from the frame', '*')</script>` },
    expect: { reads: ['the page'], readsNot: ['from the frame'] },
  },
}
