import { createElement as h, Suspense, use } from 'react'
import { renderToPipeableStream } from 'react-dom/server'
import { type Answer, scripted } from '../../support/renderer.ts'
import { page, script, type Theme } from '../corpus-page.ts'

/** A page whose parts come as they are ready, each after some time of the server. */
const streamedByReact: Answer = (_request, response) => {
  const after = (text: string, ms: number) => new Promise<string>((done) => setTimeout(() => done(text), ms))
  const Part = ({ of }: { of: Promise<string> }) => h('p', null, use(of))
  const shop = h(
    'html',
    null,
    h('head', null, h('title', null, 't')),
    h(
      'body',
      null,
      h('h1', null, 'the shop'),
      h(
        Suspense,
        { fallback: 'loading rows' },
        h(Part, { of: after('two rows of shoes', 400) }),
        h(Suspense, { fallback: 'loading reviews' }, h(Part, { of: after('a review', 700) })),
      ),
      h(Suspense, { fallback: 'loading more' }, h(Part, { of: after('more of it', 150) })),
    ),
  )
  const stream = renderToPipeableStream(shop, {
    onShellReady() {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      stream.pipe(response)
    },
    onError: (error) => void response.destroy(error instanceof Error ? error : undefined),
  })
}

/** How frameworks of today bring their content: React itself, and the ways of others rebuilt in a few lines. */
export const frameworks: Theme = {
  'React streams what was suspended': {
    document: streamedByReact,
    expect: { reads: ['the shop', 'two rows of shoes', 'a review'], readsNot: ['loading'] },
  },
  'islands that wait for their moment': {
    document: page`<x-island client="idle"></x-island><x-island client="visible" style="display:contents"><p style="margin-top:9000px">empty</p></x-island><x-island client="media"></x-island><x-island client="only"></x-island><script>
            customElements.define('x-island', class extends HTMLElement { connectedCallback() { const how = this.getAttribute('client'); const fill = async () => { const { name } = await import('./island.js?' + how); this.innerHTML = '<p>island ' + name(how) + '</p>'; this.dispatchEvent(new CustomEvent('hydrate', { bubbles: true })) }
              if (how === 'idle') requestIdleCallback(fill, { timeout: 5000 }); else if (how === 'only') addEventListener('load', fill); else if (how === 'media') { const wide = matchMedia('(min-width: 900px)'); wide.matches ? fill() : wide.addEventListener('change', fill) }
              else { const seen = new IntersectionObserver(([{ isIntersecting }]) => { if (!isIntersecting) return; seen.disconnect(); fill() }); setTimeout(() => { for (const child of this.children) seen.observe(child) }) } } })</script>`,
    parts: { 'island.js': script(`export const name = (how) => how + ' is here'`, 60) },
    expect: {
      reads: ['island idle is here', 'island visible is here', 'island media is here', 'island only is here'],
      readsNot: ['empty'],
    },
  },
  'work in hundreds of idle moments': {
    document: scripted`const work = Array.from({ length: 2000 }, (_, n) => n); let slices = 0; requestIdleCallback(function go(deadline) { slices++; for (let n = 0; n < 10 && work.length > 0 && deadline.timeRemaining() > 0; n++) work.pop()
            if (work.length > 0) requestIdleCallback(go, { timeout: 100 }); else scheduler.postTask(async () => { await scheduler.yield(); show(slices + ' slices, none left') }, { priority: 'background', delay: 500 }) })`,
    expect: { reads: ['200 slices, none left'] },
  },
}
