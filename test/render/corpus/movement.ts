import { scripted } from '../../support/renderer.ts'
import { json, type Theme } from '../corpus-page.ts'

const ROW = `const box = document.createElement('div'); document.body.append(box)`

/** Scrolling, transitions, dialogs and ways through history: what is told with a frame, or comes about in a moment of its own. */
export const movement: Theme = {
  'a page that scrolls itself and builds as it goes': {
    document: scripted`document.body.style.height = '9000px'; addEventListener('scroll', () => show('page at ' + scrollY), { once: true }); document.addEventListener('scrollend', () => show('page arrived'), { once: true }); scrollTo({ top: 500, behavior: 'smooth' })
          ${ROW}; box.style.cssText = 'height:100px;overflow:auto'; box.innerHTML = '<p style=height:5000px>list<p id=last>'
          box.onscroll = () => show('list at ' + (box.scrollTop > 0)); box.addEventListener('scrollend', () => show('list arrived')); setTimeout(() => document.querySelector('#last').scrollIntoView({ behavior: 'smooth' }), 300)
          let told = 0; const other = box.cloneNode(); other.innerHTML = '<p style=height:5000px>'; document.body.append(other); other.onscroll = () => told++; other.scrollTop = 50; other.scrollTop = 60; setTimeout(() => show('told ' + told), 400)`,
    expect: { reads: ['page at 500', 'page arrived', 'list at true', 'list arrived', 'told 1'] },
  },
  'dialogs that are closed, and popovers that open': {
    document: scripted`const dialog = document.createElement('dialog'); dialog.textContent = 'We value your privacy'; document.body.append(dialog); dialog.showModal(); let closed = 0
          dialog.addEventListener('close', () => { show('consent ' + dialog.returnValue + ' ' + ++closed); dialog.remove() }); setTimeout(() => dialog.close('given'), 200)
          ${ROW}; box.popover = 'auto'; box.addEventListener('toggle', ({ newState }) => show('popover ' + newState)); box.showPopover()`,
    expect: { reads: ['consent given 1', 'popover open'], readsNot: ['privacy', 'given 2'] },
  },
  'a router within view transitions': {
    document: scripted`navigation.addEventListener('navigate', (event) => event.intercept({ async handler() {
            const transition = document.startViewTransition({ async update() { const { text } = await (await fetch('data.json')).json(); show(text) }, types: ['forward'] })
            show('typed ' + (transition instanceof ViewTransition && transition.types.has('forward'))); await transition.ready
            await document.documentElement.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300, pseudoElement: '::view-transition-new(root)' }).finished; show('moved in')
            if (out.startViewTransition) await out.startViewTransition(() => show('part of it')).finished; else show('part of it'); show('done') } }))
          addEventListener('load', () => setTimeout(() => { const link = document.createElement('a'); link.href = '?view'; document.body.append(link); link.click(); navigation.addEventListener('navigatesuccess', () => show('at ' + location.search)) }))`,
    parts: { 'data.json': json({ text: 'the view' }) },
    expect: { reads: ['typed true', 'the view', 'moved in', 'part of it', 'done', 'at ?view'] },
  },
  'parts that are drawn when they come near': {
    document: scripted(
      `${ROW}; box.className = 'far'; box.textContent = 'far below'; const near = box.cloneNode(true); near.style.margin = 0; near.textContent = 'near'; document.body.prepend(near); show('rows ' + (document.querySelectorAll('.far').length)); near.addEventListener('contentvisibilityautostatechange', () => show('its turn'))`,
      '<style>.far { content-visibility: auto; contain-intrinsic-size: auto 500px; margin-top: 9000px; animation: in linear; animation-timeline: view() } @keyframes in { from { opacity: 0 } }</style>',
    ),
    expect: { reads: ['far below', 'near', 'rows 2', 'its turn'] },
  },
  'a frame that loads when it comes near': {
    limit: true,
    document: scripted`show('the page'); addEventListener('message', ({ data }) => show(data)); ${ROW}; box.innerHTML = '<iframe loading="lazy" src="frame" style="margin-top:9000px"></iframe>'`,
    parts: { frame: `<script>parent.postMessage('from the frame', '*')</script>` },
    expect: { reads: ['the page'], readsNot: ['from the frame'] },
  },
}
