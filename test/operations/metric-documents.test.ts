/** The dashboard and the alert rules against the metrics that a node really tells. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { Metrics } from '@prepaint/service/insight/metrics/metrics.ts'
import { parse } from 'yaml'
import { FLEET_FIGURES } from '../support/metrics.ts'

const root = path.resolve(import.meta.dirname, '..', '..')
const read = (file: string) => readFileSync(path.join(root, file), 'utf8')

type Panel = { title: string; targets?: { expr: string }[] }
const dashboard = JSON.parse(read('docs/grafana/prepaint.json')) as { panels: Panel[] }
const { groups } = parse(read('docs/prometheus/alerts.yml')) as {
  groups: { rules: { alert: string; expr: string }[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const expressions = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: title, expr })),
  ),
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
]

const node = {
  version: '1',
  pools: [{ totalCount: 1, idleCount: 1, waitingCount: 0 }],
  listener: { connected: true },
  availability: { awayMs: 0 },
  snapshot: { domains: 1, bytes: 1, ageMs: 1 },
}
const clock = { nowMs: () => 0 }
const log = silentLog()
log.warn = assert.fail
const metrics = new Metrics(node, 1, async () => FLEET_FIGURES, clock, log)
metrics.edge.answered({ verdict: 'hit', crawler: 'search', seconds: 0 })
metrics.edge.holds(() => ({ pages: 1, bytes: 1, diskBytes: 1 }))
metrics.bodies.request('put', 0.01, true)
metrics.bodies.read('store')
metrics.render.watches({ healthy: true, browsers: { alive: 1, started: 1 } })
const rendering = { outcome: { kind: 'rendered' }, record: { requests: { made: 1 } } }
const render = metrics.render.measured(async () => rendering, clock)
await render(null)
// Two looks: the event loop's figures are of the time in between.
await metrics.text()

/** Labels by metric. Prometheus itself adds `instance` and `job`, and writes `up`. */
const labels = new Map([['up', new Set(['instance', 'job'])]])
for (const line of (await metrics.text()).body.split('\n')) {
  const match = /^(\w+)(?:\{(.*)\})? /.exec(line)
  if (match === null || line.startsWith('#')) continue
  const known = labels.get(match[1]!) ?? new Set(['instance', 'job'])
  for (const [, name] of (match[2] ?? '').matchAll(/(\w+)="/g)) known.add(name!)
  labels.set(match[1]!, known)
}

const namesIn = (expr: string) =>
  [...expr.matchAll(/\b(?:prepaint|nodejs|process)_\w+|\bup(?=\{)/g)].map(([name]) => name)

it('dashboard and alerts name metrics that a node tells', () => {
  assert(expressions.length > 25)
  for (const { where, expr } of expressions) {
    assert(namesIn(expr).length > 0, where)
    for (const name of namesIn(expr)) assert(labels.has(name), `${where}: ${name}`)
  }
})

it('they ask each for labels that it has', () => {
  for (const { where, expr } of expressions) {
    for (const [, name, chosen] of expr.matchAll(/(\w+)\{([^}]*)\}/g)) {
      for (const [, label] of chosen!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
        assert(labels.get(name!)?.has(label!), `${where}: ${name} has no ${label}`)
      }
    }
    const all = new Set(namesIn(expr).flatMap((name) => [...labels.get(name)!]))
    for (const [, by] of expr.matchAll(/by \(([^)]*)\)/g)) {
      for (const label of by!.split(',')) assert(all.has(label.trim()), `${where}: no ${label}`)
    }
  }
})

it('they show all that Prepaint tells of itself', () => {
  const named = new Set(expressions.flatMap(({ expr }) => namesIn(expr)))
  const own = [...labels.keys()].filter((name) => /^prepaint_.*(?<!_sum|_count)$/.test(name))
  assert.equal(own.filter((name) => !named.has(name)).join(), 'prepaint_build_info')
})

it('no metric has a label that grows with customers', () => {
  const known =
    'verdict why crawler le op from outcome priority used part state version kind instance job'.split(' ')
  for (const [name, has] of labels) {
    if (!name.startsWith('prepaint_')) continue
    for (const label of has) assert(known.includes(label), `${name}: ${label}`)
  }
})
