import { scripted } from '../../support/renderer.ts'
import { html, json, page, type Theme } from '../corpus-page.ts'

const END = `const end = document.createElement('p'); end.style.marginTop = '20000px'; document.body.append(end)`

/** What depends on frames being drawn, on scrolling, and on other documents. */
export const observers: Theme = {
  name: 'observers',
  pages: [
    {
      name: 'an element far below the fold',
      why: 'There is no scrolling in a renderer.',
      routes: {
        '': scripted(
          `${END}; new IntersectionObserver(([entry], self) => { if (entry.isIntersecting && entry.intersectionRatio > 0) { self.disconnect(); show('seen') } }, { rootMargin: '200px', threshold: [0, 0.5, 1] }).observe(end)`,
        ),
      },
      expect: { reads: ['seen'] },
    },
    {
      name: 'an observer that is told to forget',
      why: 'A shim that goes on reporting runs what was taken back.',
      routes: {
        '': scripted(`const seen = new IntersectionObserver(() => show('wrong')); seen.observe(document.body); seen.unobserve(document.body)
          const other = new IntersectionObserver(() => show('wrong')); other.observe(document.body); other.disconnect(); setTimeout(() => show('done'), 500)`),
      },
      expect: { reads: ['done'], readsNot: ['wrong'] },
    },
    {
      name: 'a list that grows without end',
      why: 'Infinite scroll must give some pages, and an end.',
      routes: {
        '': scripted(`const end = document.createElement('p'); document.body.append(end); let n = 0
          const seen = new IntersectionObserver(async () => { const { text } = await (await fetch('more.json?' + ++n)).json()
            show(text + ' ' + n); seen.unobserve(end); seen.observe(end) }); seen.observe(end)`),
        'more.json': json({ text: 'batch' }),
      },
      expect: { reads: ['batch 1', 'batch 2'], readsNot: ['batch 20'] },
    },
    {
      name: 'a list that grows by its last element',
      why: 'Each batch brings a new last element to observe, so that a limit by element never holds.',
      routes: {
        '': scripted(`let n = 0; const seen = new IntersectionObserver(([{ target }]) => { seen.unobserve(target)
            show('row ' + ++n); seen.observe(out.lastElementChild) }); show('row 0'); seen.observe(out.lastElementChild)`),
      },
      expect: { reads: ['row 1', 'row 3'], readsNot: ['row 1000'] },
    },
    {
      name: 'content on scroll events only',
      why: 'It compares rectangles with the window on scrolling, and there is none.',
      limit: true,
      routes: {
        '': scripted(`${END}; show('top'); addEventListener('scroll', () => show('scrolled'))`),
      },
      expect: { reads: ['top'], readsNot: ['scrolled'] },
    },
    {
      name: 'the first report of a ResizeObserver',
      why: 'It comes with a frame; charts and virtual lists begin with it.',
      routes: {
        '': scripted(`const box = document.createElement('div'); box.style.width = '300px'; document.body.append(box)
          new ResizeObserver(([entry]) => show('wide ' + Math.round(entry.contentRect.width))).observe(box)`),
      },
      expect: { reads: ['wide 300'] },
    },
    {
      name: 'a ResizeObserver after a change',
      why: 'The second report comes with a later frame.',
      routes: {
        '': scripted(`const box = document.createElement('div'); box.style.width = '300px'; document.body.append(box)
          new ResizeObserver(([entry]) => show('wide ' + Math.round(entry.contentRect.width))).observe(box)
          setTimeout(() => { box.style.width = '450px' }, 1000)`),
      },
      expect: { reads: ['wide 300', 'wide 450'] },
    },
    {
      name: 'what a ResizeObserver reports',
      why: 'Border, padding and content are told apart; what has no box is told once, what is observed no more is not.',
      routes: {
        '': scripted(
          `const box = document.createElement('div'), gone = document.createElement('div'), none = document.createElement('div'); none.hidden = true; document.body.append(box, gone, none); box.className = 'b'
          const seen = new ResizeObserver((entries) => { for (const { target, contentRect, borderBoxSize: [border], contentBoxSize: [content] } of entries) show((target === box ? 'box ' : target === none ? 'none ' : 'wrong ') + [content.inlineSize, border.inlineSize, contentRect.left, contentRect.height]) })
          for (const each of [box, gone, none]) seen.observe(each); seen.unobserve(gone); try { seen.observe(null) } catch ({ name }) { show(name) } try { new ResizeObserver() } catch ({ name }) { show(name) }`,
          '<style>.b { box-sizing: border-box; width: 200px; height: 100px; border: 5px solid; padding: 10px }</style>',
        ),
      },
      expect: { reads: ['TypeError TypeError box 170,200,10,70 none 0,0,0,0'], readsNot: ['wrong'] },
    },
    {
      name: 'a MutationObserver that builds',
      why: 'Custom tags of old frameworks are filled in when they appear.',
      routes: {
        '': scripted(`new MutationObserver((records) => { for (const { addedNodes } of records) for (const node of addedNodes) if (node.localName === 'x-price') node.textContent = '12 euro' }).observe(document.body, { childList: true, subtree: true })
          setTimeout(() => document.body.append(document.createElement('x-price')), 1200)`),
      },
      expect: { reads: ['12 euro'] },
    },
    {
      name: 'a CSS animation that ends',
      why: 'A step of the page hangs on animationend, which comes with a frame.',
      routes: {
        '': `${scripted(`const box = document.createElement('div'); box.className = 'in'; box.addEventListener('animationend', ({ animationName }) => show('after ' + animationName)); document.body.append(box)`, '<style>@keyframes slide { from { opacity: 0 } } .in { animation: slide 600ms }</style>')}`,
      },
      expect: { reads: ['after slide'] },
    },
    {
      name: 'a CSS transition that ends',
      why: 'The old view is replaced only when it has faded away.',
      routes: {
        '': scripted(
          `const box = document.createElement('div'); box.className = 'old'; document.body.append(box)
          setTimeout(() => { box.addEventListener('transitionend', ({ propertyName }) => { show('faded by ' + propertyName); box.remove() }); getComputedStyle(box).opacity; box.style.opacity = 0 }, 100)`,
          '<style>.old { opacity: 1; transition: opacity 400ms }</style>',
        ),
      },
      expect: { reads: ['faded by opacity'] },
    },
    {
      name: 'the events of animations, once each',
      why: 'Delay, a pseudo-element, a bubbling listener, a handler property; one that was taken away says nothing.',
      routes: {
        '': scripted(
          `const box = document.createElement('div'), gone = document.createElement('div'); document.body.append(box, gone); box.className = 'a'; gone.className = 'b'
          document.addEventListener('animationend', ({ animationName, pseudoElement, elapsedTime, bubbles }) => show('end of ' + animationName + pseudoElement + ' ' + elapsedTime + ' ' + bubbles))
          box.onanimationend = ({ target }) => show('handler ' + (target === box)); setTimeout(() => gone.remove(), 200); setTimeout(() => show('last'), 4500)`,
          '<style>@keyframes in { from { opacity: 0 } } @keyframes up { from { top: 9px } } .a { animation: in 500ms 1s both } .a::before { content: "x"; animation: up 300ms } .b { animation: in 900ms }</style>',
        ),
      },
      expect: {
        reads: ['end of up::before 0.3 true', 'end of in 0.5 true', 'last'],
        hasNot: [/(end of in )[\s\S]*\1/, /(end of up)[\s\S]*\1/],
      },
    },
    {
      name: 'element.animate and its promise',
      why: 'Web animations are finished by frames.',
      routes: {
        '': scripted(`const box = document.createElement('div'); document.body.append(box)
          const run = box.animate([{ opacity: 0 }, { opacity: 1 }], 700); run.finished.then(() => show('finished')); run.onfinish = () => show('onfinish')`),
      },
      expect: { reads: ['finished', 'onfinish'] },
    },
    {
      name: 'an animation that never ends',
      why: 'A spinner turns for ever, and holds nothing.',
      routes: {
        '': scripted(
          `const box = document.createElement('div'); box.className = 'spin'; document.body.append(box); document.getAnimations(); setTimeout(() => show('content'), 2000)`,
          '<style>@keyframes turn { to { rotate: 1turn } } .spin { animation: turn 1s linear infinite }</style>',
        ),
      },
      expect: { reads: ['content'] },
    },
    {
      name: 'a view transition',
      why: 'The change is made in a callback that waits for a frame.',
      routes: {
        '': scripted(
          `setTimeout(() => document.startViewTransition(() => show('new view')).finished.then(() => show('and finished')), 100)`,
        ),
      },
      expect: { reads: ['new view', 'and finished'] },
    },
    {
      name: 'fonts that are waited for',
      why: 'Fonts are not fetched; document.fonts.ready must come all the same.',
      routes: {
        '': scripted(
          `document.fonts.ready.then(() => show('fonts ready')); document.fonts.load('16px Own').then(() => show('font loaded'), () => show('font failed'))`,
          `<style>@font-face { font-family: Own; src: url(own.woff2) } body { font-family: Own }</style>`,
        ),
      },
      expect: { reads: ['fonts ready'], has: [/font (loaded|failed)/] },
    },
    {
      name: 'a frame of the same site',
      why: 'It stays a frame: its content has an address of its own.',
      routes: {
        '': page(`<h1>outer</h1><iframe src="inner" title="inside"></iframe>`),
        inner: html('<p>inner text</p>'),
      },
      expect: { reads: ['outer'], readsNot: ['inner text'], has: ['<iframe src="inner" title="inside">'] },
    },
    {
      name: 'a frame that is its own document',
      why: 'srcdoc is an attribute, full of markup.',
      routes: {
        '': page(
          `<h1>outer</h1><iframe srcdoc="<p>it's &quot;inside&quot; &amp; kept</p><script>1</script>"></iframe>`,
        ),
      },
      expect: {
        reads: ['outer'],
        has: [/<iframe srcdoc="[^"]*p(>|&gt;)it's &quot;inside&quot; &amp;amp; kept/],
        hasNot: [/srcdoc="[^"]*script/],
      },
    },
    {
      name: 'a frame that never comes',
      why: 'The load event waits for it, and with it all that waits for load.',
      routes: {
        '': page(`<h1>outer</h1><iframe src="never"></iframe><script>addEventListener('load', () => document.body.append('loaded'))
          setTimeout(() => document.body.append('late'), 4000)</script>`),
        never: () => {},
      },
      expect: { reads: ['outer', 'late'] },
    },
    {
      name: 'the load event and what hangs on it',
      why: 'Some pages begin only when all is loaded, images included.',
      routes: {
        '': page(`<img src="picture.jpg"><p id="out"></p><script>
          document.addEventListener('DOMContentLoaded', () => out.append('parsed, ')); addEventListener('load', () => out.append('loaded, '))
          addEventListener('pageshow', () => out.append('shown, ')); document.addEventListener('readystatechange', () => out.append(document.readyState + ', '))</script>`),
      },
      expect: { reads: ['interactive, parsed, complete, loaded, shown,'] },
    },
    {
      name: 'a window that is looked at',
      why: 'Pages hold back while they are hidden or without focus.',
      routes: {
        '': scripted(
          `show('state ' + document.visibilityState); show('hidden ' + document.hidden); show('focus ' + document.hasFocus())`,
        ),
      },
      expect: { reads: ['state visible', 'hidden false', 'focus true'] },
    },
    {
      name: 'a window of the usual size',
      why: 'Layouts are chosen by media queries and by measured boxes.',
      routes: {
        '': scripted(`show('wide ' + matchMedia('(min-width: 1024px)').matches); show('size ' + innerWidth + 'x' + innerHeight)
          show('hover ' + matchMedia('(hover: hover)').matches); show('screen ' + matchMedia('screen').matches); show('dark ' + matchMedia('(prefers-color-scheme: dark)').matches)`),
      },
      expect: { reads: ['wide true', 'size 1280x1024', 'screen true', 'dark false'] },
    },
  ],
}
