/**
 * `node --expose-gc bench/forms.ts [--pages 300] [--seconds 4] [--rounds 3]`
 * What a stored page costs with each further variant and form, in PostgreSQL and in the memory of the edge, and hits of
 * each form beside hits of HTML. Needs wrk and taskset. Ends with the tables of `bench/RESULTS.md`.
 */
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { FACEBOOK, GOOGLEBOT, startTestEdge } from '../test/support/edge.ts'
import { processorSeconds } from './edge-load.ts'
import { machineLine, median } from './figures.ts'
import { markdownTable } from './markdown.ts'

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
})
const count = Number(values.pages)
const PHONE = `${GOOGLEBOT} Mobile`

/** What is asked for; each one adds to what is stored. */
const ASKED = [
  { name: 'HTML', adds: 'desktop only', agent: GOOGLEBOT, accept: '*/*' },
  { name: 'HTML for phones', adds: 'and mobile', agent: PHONE, accept: '*/*' },
  { name: 'Markdown', adds: 'and Markdown', agent: GOOGLEBOT, accept: 'text/markdown, text/html, */*' },
  { name: 'card', adds: 'and a card', agent: FACEBOOK, accept: '*/*' },
] as const
type Asked = (typeof ASKED)[number]

const paragraphs = textOfDocuments()
const edge = await startTestEdge({
  ...{ conversionMs: 60_000, memoryBytes: 1024 * 1024 * 1024 },
  render: async ({ page }) => ({ kind: 'rendered', status: 200, headers: [], html: article(page) }),
})
await edge.settings({ devices: 'both', cards: 'on' })
console.log(machineLine())
console.log(
  `load ${loadavg()[0]!.toFixed(1)}; ${count} pages of ${article({ path: '/1', variant: 'desktop' }).length} bytes`,
)

const costs: string[][] = []
let before = await cost()
for (const asked of ASKED) {
  for (let turn = 0; turn < 2; turn++) {
    for (let at = 1; at <= count; at++) await edge.ask(`/${at}`, optionsOf(asked))
  }
  const now = await cost()
  const added = (of: keyof typeof now) => ((now[of] - before[of]) / count / 1_000).toFixed(1)
  costs.push([asked.adds, added('stored'), added('counted'), added('used')])
  before = now
}
const shares = await hits()
console.log(
  markdownTable(
    ['a page with', 'PostgreSQL, KB more', 'edge memory, KB more (counted)', '(measured, bodies)'],
    costs,
  ),
)
console.log(markdownTable(['hit of', 'bytes', 'µs of a processor', 'as often as HTML'], shares))
await edge.close()

function optionsOf({ agent, accept }: Asked) {
  return { agent, headers: { accept, 'accept-encoding': 'br' } }
}

async function cost() {
  await edge.pool.query('vacuum page')
  await edge.pool.query('vacuum page_form')
  const { rows } = await edge.pool.query<{ stored: string }>(
    `select pg_total_relation_size('page') + pg_total_relation_size('page_form') as stored`,
  )
  await delay(1_000)
  for (let turn = 0; turn < 3; turn++) globalThis.gc?.()
  return {
    stored: Number(rows[0]!.stored),
    counted: edge.edge.pagesInMemory().bytes,
    used: process.memoryUsage().arrayBuffers,
  }
}

/** By turns, because other load comes and goes. */
async function hits(): Promise<string[][]> {
  execFileSync('taskset', ['-cp', '0', `${process.pid}`])
  const micros = new Map<Asked, number[]>(ASKED.map((asked) => [asked, []]))
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const asked of ASKED) micros.get(asked)!.push(await microsARequest(asked))
  }
  const html = median(micros.get(ASKED[0])!)
  const rows: string[][] = []
  for (const asked of ASKED) {
    const { body, verdict } = await edge.ask('/1', optionsOf(asked))
    if (verdict !== 'hit') throw new Error(`${asked.name}: ${verdict}`)
    const own = median(micros.get(asked)!)
    rows.push([asked.name, `${body.length}`, own.toFixed(1), (html / own).toFixed(2)])
  }
  return rows
}

async function microsARequest(asked: Asked): Promise<number> {
  const { agent, headers } = optionsOf(asked)
  const named = Object.entries({ Host: 'red.example', 'user-agent': agent, ...headers })
  const usedBefore = processorSeconds([process.pid])
  const { stdout } = await promisify(execFile)('taskset', [
    ...['-c', '1', 'wrk', '-t', '1', '-c', '32', `-d${values.seconds}s`],
    ...named.flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    `http://127.0.0.1:${edge.port}/1`,
  ])
  const used = processorSeconds([process.pid]) - usedBefore
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  if (/Non-2xx/.test(stdout)) throw new Error(stdout)
  return (used / requests) * 1e6
}

/** 60 KB as many pages have: a head with tags, navigation, text in markup. Each has other paragraphs. */
function article({ path: at, variant }: { path: string; variant: string }): string {
  const first = Number(at.slice(1)) * 7
  const text = (n: number) => paragraphs[(first + n) % paragraphs.length]!
  const links = Array.from(
    { length: 60 },
    (_, n) => `<li class="nav-item"><a href="/${n}">Section ${n}</a></li>`,
  )
  const blocks = Array.from({ length: 180 }, (_, n) => {
    const heading = n % 7 === 0 ? `<h2 class="article__heading">Part ${n} for ${variant}</h2>` : ''
    return `${heading}<p class="article__text article__text--${n % 3}" data-block="${n}">${text(n)}</p>`
  })
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Page ${at}</title><meta name="description" content="${text(0).slice(0, 150)}"><meta property="og:title" content="Page ${at}"><meta property="og:image" content="https://red.example${at}.png"><style>${'.article__text{margin:0 0 1em;line-height:1.5}'.repeat(100)}</style></head><body><nav><ul>${links.join('')}</ul></nav><main><h1>Page ${at}</h1>${blocks.join('\n')}</main></body></html>`
}

function textOfDocuments(): string[] {
  const folder = path.resolve(import.meta.dirname, '../docs')
  const texts = readdirSync(folder).filter((name) => name.endsWith('.md'))
  return texts
    .flatMap((name) => readFileSync(path.join(folder, name), 'utf8').split(/\n+/))
    .map((line) => line.replace(/[<>&|`*]/g, ''))
    .filter((line) => line.length > 100)
}
