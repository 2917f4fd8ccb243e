/**
 * What rules cost: a hit that has one of 200, and a render whose page of 10,000 elements is changed.
 *   node bench/rules.ts
 */

import { performance } from 'node:perf_hooks'
import { MAX_RULES, type Rule, type RuleChange } from '@prepaint/contract/rules/schema.ts'
import { edgeDomain } from '@prepaint/edge/request/domain.ts'
import { RuleBook, USUAL_CATEGORY } from '@prepaint/runtime/rule-book.ts'
import { Targets } from '../packages/edge/src/request/target.ts'
import { servedDomain } from '../test/support/memory-backend.ts'
import { startTestRenderer } from '../test/support/renderer.ts'
import { markdownTable } from './markdown.ts'

const ROUNDS = 200
const CALLS = 2_000

/** Nanoseconds of one call: the least of many rounds, as other programs only add. */
function leastNs(call: (at: number) => unknown, calls: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    for (let at = 0; at < calls; at++) call(at)
    least = Math.min(least, ((performance.now() - began) * 1e6) / calls)
  }
  return Math.round(least)
}

const rulesOf = (path: (at: number) => string): Rule[] =>
  Array.from({ length: MAX_RULES }, (_, at) => ({ path: path(at), action: 'render' }))
const LISTS: [string, Rule[]][] = [
  ['none', []],
  ['200 paths', rulesOf((at) => `/section-${at}/*`)],
  [
    '200 patterns with parameters',
    rulesOf((at) => `/*-${at}-*`).map((rule) => ({ ...rule, when: { query: { lang: 'de' } } })),
  ],
  ['200 of /*a*a*a*b, hostile', rulesOf(() => '/*a*a*a*b')],
  ['200 of a long piece, hostile', rulesOf(() => `/*${'a'.repeat(500)}b${'a'.repeat(500)}*`)],
]
const domainWith = (rules: Rule[]) => edgeDomain(servedDomain({ settings: { rules } }))

const hits = LISTS.map(([name, rules]) => {
  const domain = domainWith(rules)
  const targets = new Targets()
  const book = new RuleBook(rules)
  const isLong = name.includes('long piece')
  const end = isLong ? 'a'.repeat(1_900) : 'a?lang=fr'
  const calls = isLong ? 2 : CALLS
  const urls = Array.from({ length: calls }, (_, at) => `/products/a-long-enough-name-${at}-${end}`)
  const known = leastNs((at) => targets.of(domain, urls[at]!, USUAL_CATEGORY), calls)
  const chosen = leastNs((at) => book.chosen(urls[at]!, USUAL_CATEGORY), calls)
  return [name, `${known} ns`, `${(chosen / 1_000).toFixed(2)} µs`]
})
console.log(markdownTable(['rules', 'a hit, its URL known', 'choosing for a new URL'], hits))

const ELEMENTS = 10_000
const RENDERS = 40
const change: RuleChange = {
  remove: ['.ad', 'aside > .note', '#promo'],
  consent: true,
  head: { title: 'Other', robots: 'noindex', canonical: 'self' },
}
const hostile: RuleChange = {
  remove: Array.from({ length: 50 }, (_, at) => `div:has(p + p):not(.x${at}) > p:nth-child(${at + 2}n)`),
  consent: true,
}
const renderer = await startTestRenderer({ slots: 1 })
try {
  const parts = Array.from(
    { length: ELEMENTS / 4 },
    (_, at) =>
      `<div class="card c${at % 40}" id="i${at}"><p>Text of ${at}</p><p class="${at % 50 ? 'note' : 'ad'}">More</p><a href="/${at}">Link</a></div>`,
  )
  renderer.routes.set('/big', `<!doctype html><title>Big</title><body><script>0</script>${parts.join('')}`)
  const least: Record<string, number> = {}
  const cases: [string, RuleChange | undefined][] = [
    ['nothing', undefined],
    ['elements, consent, head', change],
    ['50 hostile selectors', hostile],
  ]
  for (let round = 0; round < RENDERS; round++) {
    for (const [name, wanted] of cases) {
      const { record } = await renderer.explained('/big', wanted && { rule: { index: 0, change: wanted } })
      const { settled, snapshot } = record?.phases ?? {}
      if (settled == null || snapshot == null) throw new Error(`${name}: no snapshot`)
      least[name] = Math.min(least[name] ?? Number.POSITIVE_INFINITY, snapshot - settled)
    }
  }
  const rows = cases.map(([name]) => [
    name,
    `${least[name]!.toFixed(1)} ms`,
    `${(least[name]! - least['nothing']!).toFixed(1)} ms`,
  ])
  console.log(`\n${markdownTable(['change', 'snapshot', 'more than none'], rows)}`)
} finally {
  await renderer.close()
}
