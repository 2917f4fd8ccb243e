import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import type { Fleet as FleetView } from '@prepaint/service/insight/fleet/node.ts'
import { startVersionOrigin } from './chaos/version-origin.ts'
import { runJson } from './support/command-line.ts'
import { until } from './support/condition.ts'
import { edgeRequest, GOOGLEBOT } from './support/edge-request.ts'
import { startFleet } from './support/fleet.ts'
import type { NodeProcess } from './support/node-process.ts'
import { processTree } from './support/processes.ts'
import { paths } from './support/queue.ts'
import { callApi, openAccount, registerDomain } from './support/tenant.ts'

const ROLES = ['edge', 'api', 'render'] as const

const origin = await startVersionOrigin()
const fleet = await startFleet(
  ROLES.map((role) => ({
    settings: {
      PREPAINT_ROLES: role,
      // However fast the machine renders, 1,000 pages want more slots than there are.
      PREPAINT_SCALE_TARGET_SECONDS: '10',
      ...(role !== 'render' && { PREPAINT_CHROMIUM: '/nonexistent/chromium' }),
    },
  })),
)
type Three = [NodeProcess, NodeProcess, NodeProcess]
const [edge, api, render] = fleet.members.map(({ process }) => process) as Three
after(async () => {
  const left = await fleet.close()
  await origin.close()
  assert.deepEqual(left, [])
})

const get = async (node: NodeProcess, path: string) => {
  const answer = await fetch(node.api + path)
  return { status: answer.status, body: (await answer.json().catch(() => ({}))) as Record<string, unknown> }
}
const browsersOf = ({ pid }: NodeProcess) => processTree(pid).filter(({ command }) => /chrom/.test(command))

it('nodes with one role each do together what one node does: the API registers, the edge asks, the renderer renders', async () => {
  const { key } = await openAccount(api, { email: 'roles@example.com', plan: 'enterprise' })
  await registerDomain(api, key, { customDomain: 'site.example', originUrl: origin.url })
  const request = { host: 'site.example', path: '/', userAgent: GOOGLEBOT }
  // A crawler whose time is short is given what is there, which is not stored.
  const verdict = async () => (await edgeRequest(edge.edge, request)).verdict
  await until('it is stored', async () => (await verdict()) === 'hit', 60_000)
  const list = await callApi(api, key, { method: 'GET', path: '/api/cache/list/site.example' })
  assert.equal(list.body['cachedPages'], 1)
})

it('they start nothing else: no browser but the renderer has one, and each port is there only where it is needed', async () => {
  assert.deepEqual([browsersOf(edge), browsersOf(api)], [[], []])
  assert.ok(browsersOf(render).length > 0)
  assert.deepEqual([api.edge, api.edgeTls, render.edge, render.edgeTls], [null, null, null, null])
  assert.notEqual(edge.edge, null)
  // What is not the API answers for its own health, and nothing else.
  for (const node of [edge, render]) {
    assert.deepEqual(await get(node, '/api/domains'), { status: 404, body: { error: 'Not found' } })
    assert.equal((await get(node, '/metrics')).status, 200)
  }
  assert.equal((await get(api, '/api/domains')).status, 401)
})

it('they say so: /readyz, and the list of nodes', async () => {
  for (const node of [edge, api, render]) {
    const browser = node === render ? 'ok' : 'none'
    const ready = { ready: true, state: 'serving', database: 'ok', browser }
    assert.deepEqual(await get(node, '/readyz'), { status: 200, body: ready })
  }
  const { json } = await runJson(['nodes'], api.settings)
  const { nodes } = json as FleetView
  assert.deepEqual(
    nodes.map(({ roles, browser, state, slots }) => [...roles, browser, state, slots].join(' ')).sort(),
    ['api none serving 0', 'edge none serving 0', 'render ok serving 2'],
  )
  const pids = nodes.map(({ id }) => Number(id.split(':')[1]))
  assert.deepEqual(new Set(pids), new Set([edge.pid, api.pid, render.pid]))
})

it('they answer the probes of the Kubernetes manifests', async () => {
  const nodes = { 'base/edge': edge, 'parts/api': api, 'parts/render': render }
  for (const [file, node] of Object.entries(nodes)) {
    const manifest = readFileSync(path.join(import.meta.dirname, `../deploy/kubernetes/${file}.yaml`), 'utf8')
    const probes = [...manifest.matchAll(/^ +path: (\/(?:readyz|healthz)\S*)$/gm)].map(([, asked]) => asked!)
    assert.equal(probes.length, 3, file)
    for (const asked of probes) assert.equal((await get(node, asked)).status, 200, `${file}: ${asked}`)
  }
})

it('every node tells how many slots 1,000 refreshes want, and when they are gone', async () => {
  const wanted = async (node: NodeProcess) => {
    const text = await (await fetch(`${node.api}/metrics`)).text()
    const value = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
    assert.equal(value('prepaint_render_slots_fleet'), 2)
    return value('prepaint_render_slots_wanted')
  }
  const { rows } = await fleet.pool.query<{ id: DomainId }>('select id from domain')
  await enqueue(fleet.pool, rows[0]!.id, paths(1_000), 'refresh')
  for (const node of [edge, api, render])
    await until('more are wanted', async () => (await wanted(node)) > 2, 60_000)
  await fleet.pool.query(`delete from job where state = 'queued'`)
  for (const node of [edge, api, render])
    await until('none are wanted', async () => (await wanted(node)) === 0, 60_000)
})
