/**
 * `node bench/scale.ts [--pages 100000000] [--requests 0.1] [--html-kb 60]`
 * `[--render-cpu-ms 250] [--edge-cpu-us 60] [--peak 5] [--measured 1000]`
 * Estimates what a fleet needs. Processor times come from `bench/render.ts` and `bench/edge.ts`.
 */
import { parseArgs } from 'node:util'

import { machineLine } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { measureStore } from './scale-measure.ts'
import { simulate } from './scale-model.ts'

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '100000000' },
    requests: { type: 'string', default: '0.1' },
    'html-kb': { type: 'string', default: '60' },
    'render-cpu-ms': { type: 'string', default: '250' },
    'edge-cpu-us': { type: 'string', default: '60' },
    peak: { type: 'string', default: '5' },
    measured: { type: 'string', default: '1000' },
  },
})
const peak = Number(values.peak)
const store = await measureStore(Number(values.measured), Number(values['html-kb']) * 1_024)
const KIB = 1_024
const GIB = 2 ** 30

console.log(`${new Date().toISOString().slice(0, 10)}, ${machineLine()}\n`)
console.log(
  `Measured on ${values.measured} pages of ${values['html-kb']} KB: ${(store.bytesPerPage / KIB).toFixed(1)} KiB a page with all indexes, ` +
    `of it ${(store.bodyBytes / KIB).toFixed(1)} body; written ahead ${(store.walPerRender / KIB).toFixed(1)} KiB a first render, ` +
    `${(store.walPerRefresh / KIB).toFixed(1)} a later one; ${store.rowsWritten.toFixed(1)} rows changed a render\n`,
)

const rows = [1, 2, 3].flatMap((times) => {
  const assumptions = {
    pages: Number(values.pages) / 100 ** (3 - times),
    requestsPerPageDay: Number(values.requests),
    skew: 0.8,
    ...{ freshDays: 1, staleDays: 7, keepDays: 30 },
    memoryBytes: 4 * GIB,
    entryBytes: store.bodyBytes + 1_500,
    edges: 4,
    peak,
  }
  const seen = simulate(assumptions, 1)
  const renders = seen.rendersPerSecond * peak
  const requests = seen.requestsPerSecond * peak
  const reads = requests * (1 - seen.fromMemory)
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`
  return [
    [
      assumptions.pages.toLocaleString('en'),
      requests.toFixed(1),
      `${percent(seen.hit)} / ${percent(seen.stale)} / ${percent(seen.rendered)}`,
      percent(seen.fromMemory),
      renders.toFixed(1),
      ((renders * Number(values['render-cpu-ms'])) / 1_000).toFixed(1),
      ((requests * Number(values['edge-cpu-us'])) / 1e6).toFixed(3),
      reads.toFixed(0),
      (renders * store.rowsWritten).toFixed(0),
      ((renders * store.walPerRefresh) / 2 ** 20).toFixed(1),
      ((seen.storedPages * store.bytesPerPage) / GIB).toFixed(1),
    ],
  ]
})
console.log(
  markdownTable(
    [
      'pages known',
      'requests/s',
      'hit / stale / rendered',
      'from memory',
      'renders/s',
      'cores for renders',
      'cores for edges',
      'reads/s of PostgreSQL',
      'rows written/s',
      'WAL MiB/s',
      'stored GiB',
    ],
    rows,
    0,
  ),
)
console.log(
  `\nAssumed: ${values.requests} requests of crawlers a page and day on average, peaks ${peak} times the mean (all figures a second are of peaks), ` +
    'popularity by rank to the power of -0.8, fresh 1 day, stale 7, kept 30; 4 edges with 4 GiB of pages each; ' +
    `${values['render-cpu-ms']} ms of processor a render, ${values['edge-cpu-us']} us a request`,
)
