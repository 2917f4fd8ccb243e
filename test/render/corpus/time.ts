import { scripted } from '../../support/renderer.ts'
import { json, page, type Theme } from '../corpus-page.ts'

/** Content that comes with time, and pages that never rest. */
export const timers: Theme = {
  'a timer of 12 s': {
    limit: true,
    document: scripted`show('now'); setTimeout(() => show('after 12 s'), 12000)`,
    expect: { reads: ['now'], readsNot: ['after 12 s'] },
  },
  'a timer of 0 ms for ever': {
    why: 'Virtual time may not stand still between two tasks that are due at once.',
    document: scripted`const spin = () => setTimeout(spin, 0); spin(); setTimeout(() => show('after 3 s'), 3000)`,
    expect: { reads: ['after 3 s'] },
  },
  'messages to itself for ever': {
    why: 'Tasks without a delay never let a jumping clock jump.',
    document: scripted`const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => port2.postMessage(0); port2.postMessage(0)
          setTimeout(() => show('after 2 s'), 2000)`,
    expect: { reads: ['after 2 s'] },
  },
  'slices of work by message channel': {
    why: "React's scheduler works so; a renderer that looks between two slices sees half a tree.",
    document: scripted`const { port1, port2 } = new MessageChannel(); let n = 0
          port1.onmessage = () => ++n < 300 ? port2.postMessage(0) : show('slice ' + n); port2.postMessage(0)`,
    expect: { reads: ['slice 300'] },
  },
  'scheduler.postTask and scheduler.yield': {
    document: scripted`(async () => {
          await scheduler.postTask(() => {}, { priority: 'background' }); await scheduler.yield()
          await scheduler.postTask(() => show('by the scheduler'), { priority: 'background', delay: 800 }) })()`,
    expect: { reads: ['by the scheduler'] },
  },
  'a wait by the clock in a loop': {
    why: 'Virtual time stands while a script runs: one that waits for it to go by would wait for ever.',
    document: scripted`const sleep = (now, ms) => { const end = now() + ms; while (now() < end); return now() - end < 1 }
          show('by the page ' + sleep(() => performance.now(), 300)); show('by the wall ' + sleep(Date.now, 300)); show('by new dates ' + sleep(() => +new Date(), 300))
          const text = 'const end = performance.now() + 300; while (performance.now() < end); postMessage("by a worker")'
          new Worker(URL.createObjectURL(new Blob([text]))).onmessage = ({ data }) => show(data)`,
    expect: { reads: ['by the page true', 'by the wall true', 'by new dates true', 'by a worker'] },
  },
  'a storm of microtasks and of messages, and callbacks that are taken back': {
    document: scripted`let n = 0; const step = () => ++n < 200000 ? queueMicrotask(step) : show('microtask ' + n); step()
          let m = 0; addEventListener('message', () => ++m < 200 ? postMessage('', '*') : show('slice ' + m)); postMessage('', '*')
          cancelAnimationFrame(requestAnimationFrame(() => show('wrong frame'))); cancelIdleCallback(requestIdleCallback(() => show('wrong idle')))`,
    expect: { reads: ['microtask 200000', 'slice 200'], readsNot: ['wrong'] },
  },
  'animation frames for ever': {
    document: scripted`let start; requestAnimationFrame(function frame(now) { start ??= now
          if (now - start > 3500 && start !== 0) { show('after 3.5 s of frames'); start = Infinity } requestAnimationFrame(frame) })`,
    expect: { reads: ['after 3.5 s of frames'] },
  },
  'clocks that agree': {
    document: scripted`const d = Date.now(), p = performance.now(), a = document.timeline.currentTime, m = document.body.animate([{ opacity: 0 }, { opacity: 1 }], 10000)
          setTimeout(() => requestAnimationFrame((frame) => {
            const run = performance.now() - p, close = (other) => Math.abs(other - run) < 40
            show('date ' + close(Date.now() - d)); show('timeline ' + close(document.timeline.currentTime - a)); show('animation ' + close(m.currentTime)); show('frame ' + close(frame - p)); show('three seconds ' + (run >= 3000 && run < 3200))
            const event = new Event('x'); show('event ' + close(event.timeStamp - p)); show('origin ' + (Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 50))
          }), 3000)`,
    expect: {
      reads: ['date true timeline true animation true frame true three seconds true event true origin true'],
    },
  },
  'prerenderReady held until a slow answer': {
    document: scripted`window.prerenderReady = false
          fetch('slow.json').then((r) => r.json()).then(({ text }) => setTimeout(() => { show(text); window.prerenderReady = true }, 6000))`,
    parts: { 'slow.json': json({ text: 'slow and late' }, 700) },
    expect: { reads: ['slow and late'] },
  },
}

const END = `const end = document.createElement('p'); end.style.marginTop = '20000px'; document.body.append(end)`

/** What depends on frames being drawn, on scrolling, and on other documents. */
export const observers: Theme = {
  'an element far below the fold, and observers that are told to forget': {
    document: scripted`${END}; new IntersectionObserver(([entry], self) => { if (entry.isIntersecting && entry.intersectionRatio > 0) { self.disconnect(); show('seen') } }, { rootMargin: '200px', threshold: [0, 0.5, 1] }).observe(end)
          const seen = new IntersectionObserver(() => show('wrong')); seen.observe(document.body); seen.unobserve(document.body)
          const other = new IntersectionObserver(() => show('wrong')); other.observe(document.body); other.disconnect(); setTimeout(() => show('done'), 500)`,
    expect: { reads: ['seen', 'done'], readsNot: ['wrong'] },
  },
  'a list that grows by its last element': {
    why: 'Each batch brings a new last element to observe, so that a limit by element never holds.',
    document: scripted`let n = 0; const seen = new IntersectionObserver(([{ target }]) => { seen.unobserve(target)
            show('row ' + ++n); seen.observe(out.lastElementChild) }); show('row 0'); seen.observe(out.lastElementChild)`,
    expect: { reads: ['row 1', 'row 3'], readsNot: ['row 1000'] },
  },
  'content on scroll events only': {
    limit: true,
    document: scripted`${END}; show('top'); addEventListener('scroll', () => show('scrolled'))`,
    expect: { reads: ['top'], readsNot: ['scrolled'] },
  },
  'a ResizeObserver after a change': {
    document: scripted`const box = document.createElement('div'); box.style.width = '300px'; document.body.append(box)
          new ResizeObserver(([entry]) => show('wide ' + Math.round(entry.contentRect.width))).observe(box)
          setTimeout(() => { box.style.width = '450px' }, 1000)`,
    expect: { reads: ['wide 300', 'wide 450'] },
  },
  'what a ResizeObserver reports': {
    document: scripted(
      `const box = document.createElement('div'), gone = document.createElement('div'), none = document.createElement('div'); none.hidden = true; document.body.append(box, gone, none); box.className = 'b'
          const seen = new ResizeObserver((entries) => { for (const { target, contentRect, borderBoxSize: [border], contentBoxSize: [content] } of entries) show((target === box ? 'box ' : target === none ? 'none ' : 'wrong ') + [content.inlineSize, border.inlineSize, contentRect.left, contentRect.height]) })
          for (const each of [box, gone, none]) seen.observe(each); seen.unobserve(gone); try { seen.observe(null) } catch ({ name }) { show(name) } try { new ResizeObserver() } catch ({ name }) { show(name) }`,
      '<style>.b { box-sizing: border-box; width: 200px; height: 100px; border: 5px solid; padding: 10px }</style>',
    ),
    expect: { reads: ['TypeError TypeError box 170,200,10,70 none 0,0,0,0'], readsNot: ['wrong'] },
  },
  'a MutationObserver that builds': {
    document: scripted`new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) if (node.localName === 'x-price') node.textContent = '12 euro' }).observe(document.body, { childList: true, subtree: true })
          setTimeout(() => document.body.append(document.createElement('x-price')), 1200)`,
    expect: { reads: ['12 euro'] },
  },
  'the events of animations, once each': {
    document: scripted(
      `const box = document.createElement('div'), gone = document.createElement('div'); document.body.append(box, gone); box.className = 'a'; gone.className = 'b'
          document.addEventListener('animationend', ({ animationName, pseudoElement, elapsedTime, bubbles }) => show('end of ' + animationName + pseudoElement + ' ' + elapsedTime + ' ' + bubbles))
          box.onanimationend = ({ target }) => show('handler ' + (target === box)); setTimeout(() => gone.remove(), 200); setTimeout(() => show('last'), 4500)`,
      '<style>@keyframes in { from { opacity: 0 } } @keyframes up { from { top: 9px } } .a { animation: in 500ms 1s both } .a::before { content: "x"; animation: up 300ms } .b { animation: in 900ms }</style>',
    ),
    expect: {
      reads: ['end of up::before 0.3 true', 'end of in 0.5 true', 'last'],
      hasNot: [/(end of in )[\s\S]*\1/, /(end of up)[\s\S]*\1/],
    },
  },
  'an animation that never ends, and one of a script with its promise': {
    document: scripted(
      `const box = document.createElement('div'); box.className = 'spin'; document.body.append(box); document.getAnimations(); setTimeout(() => show('content'), 2000)
          const run = out.animate([{ opacity: 0 }, { opacity: 1 }], 700); run.finished.then(() => show('finished')); run.onfinish = () => show('onfinish')`,
      '<style>@keyframes turn { to { rotate: 1turn } } .spin { animation: turn 1s linear infinite }</style>',
    ),
    expect: { reads: ['content', 'finished', 'onfinish'] },
  },
  'fonts that are waited for': {
    document: scripted(
      `document.fonts.ready.then(() => show('fonts ready')); document.fonts.load('16px Own').then(() => show('font loaded'), () => show('font failed'))`,
      `<style>@font-face { font-family: Own; src: url(own.woff2) } body { font-family: Own }</style>`,
    ),
    expect: { reads: ['fonts ready'], has: [/font (loaded|failed)/] },
  },
  'a frame that never comes': {
    why: 'The load event waits for it, and with it all that waits for load.',
    document: page`<h1>outer</h1><iframe src="never"></iframe><script>addEventListener('load', () => document.body.append('loaded'))
          setTimeout(() => document.body.append('late'), 4000)</script>`,
    parts: { never: () => {} },
    expect: { reads: ['outer', 'late'] },
  },
  'the load event and what hangs on it': {
    document: page`<img src="picture.jpg"><p id="out"></p><script>
          document.addEventListener('DOMContentLoaded', () => out.append('parsed, ')); addEventListener('load', () => out.append('loaded, '))
          addEventListener('pageshow', () => out.append('shown, ')); document.addEventListener('readystatechange', () => out.append(document.readyState + ', '))</script>`,
    expect: { reads: ['interactive, parsed, complete, loaded, shown,'] },
  },
  'a window that is looked at': {
    document: scripted`show('state ' + document.visibilityState); show('hidden ' + document.hidden); show('focus ' + document.hasFocus())`,
    expect: { reads: ['state visible', 'hidden false', 'focus true'] },
  },
}

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
    document: scripted(
      `${ROW}; box.textContent = 'moves'; if (!box.when) show('animation over, click seen'); else { box.when('animationend').subscribe(() => show('animation over, click seen')) }`,
      '<style>@keyframes in { from { opacity: 0 } } div { animation: in 700ms }</style>',
    ),
    expect: { reads: ['animation over, click seen'] },
  },
  'elements that move between documents': {
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
    limit: true,
    document: scripted`show('the page'); addEventListener('message', ({ data }) => show(data)); ${ROW}; box.innerHTML = '<iframe loading="lazy" src="frame" style="margin-top:9000px"></iframe>'`,
    parts: { frame: `<script>parent.postMessage('from the frame', '*')</script>` },
    expect: { reads: ['the page'], readsNot: ['from the frame'] },
  },
}
