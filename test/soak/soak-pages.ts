import { pick, type Random } from '../chaos/seeded-random.ts'
import { CORPUS } from '../render/corpus.ts'
import { type CorpusPage, type Expectation, page, slugOf } from '../render/corpus-page.ts'
import { judge } from '../render/judge.ts'
import { speakWebSocket } from '../render/web-socket.ts'
import { scripted, type TestRenderer } from '../support/renderer.ts'

/** One page to render and what must come of it. */
export type SoakPage = {
  name: string
  path: string
  expect: Expectation
  /** How long it took so far, for choosing: a page that takes seconds comes seldom. */
  usualMs: number
}

/** Pages that try to leave something behind. */
const HOSTILE: readonly CorpusPage[] = [
  {
    name: 'soak: workers that never end',
    why: 'They outlive a script that is done, and take a processor each.',
    routes: {
      '': scripted(
        `for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);']))); show('content')`,
      ),
    },
    expect: { reads: ['content'] },
  },
  {
    name: 'soak: storage to the brim',
    why: 'What one render writes must be gone for the next, and its files too.',
    routes: {
      '': scripted(
        `localStorage.all = 'x'.repeat(4e6); sessionStorage.all = 'y'.repeat(4e6)
        const request = indexedDB.open('soak', 1); request.onupgradeneeded = () => request.result.createObjectStore('s')
        request.onsuccess = () => { request.result.transaction('s', 'readwrite').objectStore('s').put(new Blob(['z'.repeat(1e6)]), 1).onsuccess = () => show('stored') }`,
      ),
    },
    expect: { reads: ['stored'] },
  },
  {
    name: 'soak: memory that is held',
    why: 'A process that serves many pages must not keep what each of them held.',
    routes: {
      '': scripted(
        `window.held = new Uint8Array(6e7).fill(1); for (let n = 0; n < 5000; n++) show('row ' + n)`,
      ),
    },
    expect: { reads: ['row 4999'] },
  },
  {
    name: 'soak: sixty frames',
    why: 'Each is a document with scripts of ours.',
    routes: {
      '': page(
        `${'<iframe srcdoc="<p>inner</p><script>setInterval(() => {}, 10)</script>"></iframe>'.repeat(60)}<p>outer</p>`,
      ),
    },
    expect: { reads: ['outer'] },
  },
]

/** What one site in three shows: bytes that stay the same, on a domain of their own. */
const DOMAINS = 6
const FIRST_GUESS_MS = 120

export type SoakPages = {
  /** The page and the domain it is asked at. */
  next(random: Random): { page: SoakPage; domain: string }
  /** Throws when the outcome is not what the page is. */
  judge(page: SoakPage, domain: string, outcome: Parameters<typeof judge>[0]): void
}

/** The corpus and some worse pages as one site, at several domains. `visits` pages have their own tests. */
export function openSoakPages(renderer: TestRenderer): SoakPages {
  const sockets = new Map<string, NonNullable<CorpusPage['sockets']>[string]>()
  const pages = [...CORPUS.flatMap((theme) => theme.pages), ...HOSTILE]
    .filter(({ visits }) => visits === undefined)
    .map((page): SoakPage => {
      const folder = `/${slugOf(page)}/`
      for (const [name, answer] of Object.entries(page.routes)) renderer.routes.set(folder + name, answer)
      for (const [name, speak] of Object.entries(page.sockets ?? {})) sockets.set(folder + name, speak)
      return {
        name: page.name,
        path: folder + (page.at ?? ''),
        expect: page.expect,
        usualMs: FIRST_GUESS_MS,
      }
    })
  renderer.origin.on('upgrade', (request, socket) => {
    const speak = sockets.get(request.url ?? '')
    if (speak === undefined) socket.destroy()
    else speakWebSocket(request, socket, speak)
  })

  return {
    next(random) {
      const weights = pages.map(({ usualMs }) => 1 / usualMs)
      let at = random() * weights.reduce((sum, weight) => sum + weight, 0)
      const chosen = pages.find((_, index) => {
        at -= weights[index]!
        return at <= 0
      })
      const domain = `soak-${1 + Math.floor(random() * DOMAINS)}.example`
      return { page: chosen ?? pick(random, pages), domain }
    },
    judge({ path, expect }, domain, outcome) {
      judge(outcome, expect, `https://${domain}${path.slice(0, path.indexOf('/', 1) + 1)}`)
    },
  }
}
