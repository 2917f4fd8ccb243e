import { pick, type Random } from '../chaos/seeded-random.ts'
import { CORPUS } from '../render/corpus.ts'
import {
  type CorpusPage,
  type Expectation,
  folderOf,
  page,
  placePages,
  type Theme,
} from '../render/corpus-page.ts'
import { judge } from '../render/judge.ts'
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
const HOSTILE: Theme = {
  'soak: workers that never end': {
    why: 'They outlive a script that is done, and take a processor each.',
    document: scripted`for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);']))); show('content')`,
    expect: { reads: ['content'] },
  },
  'soak: storage to the brim': {
    why: 'What one render writes must be gone for the next, and its files too.',
    document: scripted`localStorage.all = 'x'.repeat(4e6); sessionStorage.all = 'y'.repeat(4e6)
        const request = indexedDB.open('soak', 1); request.onupgradeneeded = () => request.result.createObjectStore('s')
        request.onsuccess = () => { request.result.transaction('s', 'readwrite').objectStore('s').put(new Blob(['z'.repeat(1e6)]), 1).onsuccess = () => show('stored') }`,
    expect: { reads: ['stored'] },
  },
  'soak: memory that is held': {
    why: 'A process that serves many pages must not keep what each of them held.',
    document: scripted`window.held = new Uint8Array(6e7).fill(1); for (let n = 0; n < 5000; n++) show('row ' + n)`,
    expect: { reads: ['row 4999'] },
  },
  'soak: sixty frames': {
    why: 'Each is a document with scripts of ours.',
    document: page`${'<iframe srcdoc="<p>inner</p><script>setInterval(() => {}, 10)</script>"></iframe>'.repeat(60)}<p>outer</p>`,
    expect: { reads: ['outer'] },
  },
}

/** What one site in three shows: bytes that stay the same, on a domain of their own. */
const DOMAINS = 6
const FIRST_GUESS_MS = 120

export type SoakPages = {
  /** The page and the domain it is asked at. */
  next(random: Random): { page: SoakPage; domain: string }
  /** Throws when the outcome is not what the page is. */
  judge(page: SoakPage, outcome: Parameters<typeof judge>[0]): void
}

/** The corpus and some worse pages as one site, at several domains. `visits` pages have their own tests. */
export function openSoakPages(renderer: TestRenderer): SoakPages {
  const placed = [...Object.values(CORPUS), HOSTILE]
    .flatMap(Object.entries<CorpusPage>)
    .filter(([, { visits }]) => visits === undefined)
  placePages(placed, renderer.routes, renderer.origin)
  const pages = placed.map(
    ([name, { at = '', expect }]): SoakPage => ({
      name,
      path: folderOf(name) + at,
      expect,
      usualMs: FIRST_GUESS_MS,
    }),
  )

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
    judge: ({ expect }, outcome) => judge(outcome, expect),
  }
}
