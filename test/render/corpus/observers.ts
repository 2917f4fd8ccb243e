import { scripted } from '../../support/renderer.ts'
import { page, type Theme } from '../corpus-page.ts'

const END = `const end = document.createElement('p'); end.style.marginTop = '20000px'; document.body.append(end)`

/** What depends on frames being drawn, on scrolling, and on other documents. */
export const observers: Theme = {
  'an element far below the fold': {
    why: 'There is no scrolling in a renderer.',
    document: scripted`${END}; new IntersectionObserver(([entry], self) => { if (entry.isIntersecting && entry.intersectionRatio > 0) { self.disconnect(); show('seen') } }, { rootMargin: '200px', threshold: [0, 0.5, 1] }).observe(end)`,
    expect: { reads: ['seen'] },
  },
  'an observer that is told to forget': {
    why: 'A shim that goes on reporting runs what was taken back.',
    document: scripted`const seen = new IntersectionObserver(() => show('wrong')); seen.observe(document.body); seen.unobserve(document.body)
          const other = new IntersectionObserver(() => show('wrong')); other.observe(document.body); other.disconnect(); setTimeout(() => show('done'), 500)`,
    expect: { reads: ['done'], readsNot: ['wrong'] },
  },
  'a list that grows by its last element': {
    why: 'Each batch brings a new last element to observe, so that a limit by element never holds.',
    document: scripted`let n = 0; const seen = new IntersectionObserver(([{ target }]) => { seen.unobserve(target)
            show('row ' + ++n); seen.observe(out.lastElementChild) }); show('row 0'); seen.observe(out.lastElementChild)`,
    expect: { reads: ['row 1', 'row 3'], readsNot: ['row 1000'] },
  },
  'content on scroll events only': {
    why: 'It compares rectangles with the window on scrolling, and there is none.',
    limit: true,
    document: scripted`${END}; show('top'); addEventListener('scroll', () => show('scrolled'))`,
    expect: { reads: ['top'], readsNot: ['scrolled'] },
  },
  'a ResizeObserver after a change': {
    why: 'The second report comes with a later frame.',
    document: scripted`const box = document.createElement('div'); box.style.width = '300px'; document.body.append(box)
          new ResizeObserver(([entry]) => show('wide ' + Math.round(entry.contentRect.width))).observe(box)
          setTimeout(() => { box.style.width = '450px' }, 1000)`,
    expect: { reads: ['wide 300', 'wide 450'] },
  },
  'what a ResizeObserver reports': {
    why: 'Border, padding and content are told apart; what has no box is told once, what is observed no more is not.',
    document: scripted(
      `const box = document.createElement('div'), gone = document.createElement('div'), none = document.createElement('div'); none.hidden = true; document.body.append(box, gone, none); box.className = 'b'
          const seen = new ResizeObserver((entries) => { for (const { target, contentRect, borderBoxSize: [border], contentBoxSize: [content] } of entries) show((target === box ? 'box ' : target === none ? 'none ' : 'wrong ') + [content.inlineSize, border.inlineSize, contentRect.left, contentRect.height]) })
          for (const each of [box, gone, none]) seen.observe(each); seen.unobserve(gone); try { seen.observe(null) } catch ({ name }) { show(name) } try { new ResizeObserver() } catch ({ name }) { show(name) }`,
      '<style>.b { box-sizing: border-box; width: 200px; height: 100px; border: 5px solid; padding: 10px }</style>',
    ),
    expect: { reads: ['TypeError TypeError box 170,200,10,70 none 0,0,0,0'], readsNot: ['wrong'] },
  },
  'a MutationObserver that builds': {
    why: 'Custom tags of old frameworks are filled in when they appear.',
    document: scripted`new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) if (node.localName === 'x-price') node.textContent = '12 euro' }).observe(document.body, { childList: true, subtree: true })
          setTimeout(() => document.body.append(document.createElement('x-price')), 1200)`,
    expect: { reads: ['12 euro'] },
  },
  'the events of animations, once each': {
    why: 'Delay, a pseudo-element, a bubbling listener, a handler property; one that was taken away says nothing.',
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
  'element.animate and its promise': {
    why: 'Web animations are finished by frames.',
    document: scripted`const box = document.createElement('div'); document.body.append(box)
          const run = box.animate([{ opacity: 0 }, { opacity: 1 }], 700); run.finished.then(() => show('finished')); run.onfinish = () => show('onfinish')`,
    expect: { reads: ['finished', 'onfinish'] },
  },
  'an animation that never ends': {
    why: 'A spinner turns for ever, and holds nothing.',
    document: scripted(
      `const box = document.createElement('div'); box.className = 'spin'; document.body.append(box); document.getAnimations(); setTimeout(() => show('content'), 2000)`,
      '<style>@keyframes turn { to { rotate: 1turn } } .spin { animation: turn 1s linear infinite }</style>',
    ),
    expect: { reads: ['content'] },
  },
  'fonts that are waited for': {
    why: 'Fonts are not fetched; document.fonts.ready must come all the same.',
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
    why: 'Some pages begin only when all is loaded, images included.',
    document: page`<img src="picture.jpg"><p id="out"></p><script>
          document.addEventListener('DOMContentLoaded', () => out.append('parsed, ')); addEventListener('load', () => out.append('loaded, '))
          addEventListener('pageshow', () => out.append('shown, ')); document.addEventListener('readystatechange', () => out.append(document.readyState + ', '))</script>`,
    expect: { reads: ['interactive, parsed, complete, loaded, shown,'] },
  },
  'a window that is looked at': {
    why: 'Pages hold back while they are hidden or without focus.',
    document: scripted`show('state ' + document.visibilityState); show('hidden ' + document.hidden); show('focus ' + document.hasFocus())`,
    expect: { reads: ['state visible', 'hidden false', 'focus true'] },
  },
}
