import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, it } from 'node:test'
import { startShop } from '../../examples/shop/server.ts'
import { runJson, runPrepaint, spawnPrepaint } from '../../test/support/command-line.ts'
import { until } from '../../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { serve } from '../../test/support/loopback.ts'
import type { StepResult } from './demo/steps.ts'
import type { CheckResult } from './doctor/machine.ts'

const dataDir = makeDataDir()
const shop = await startShop({ port: 0 })
const seen: (string | undefined)[] = []
const plain = await serve((req, res) => {
  seen.push(req.headers['user-agent'])
  res.setHeader('content-type', 'text/html')
  res.end('<title>T</title><main><h1>Head</h1><p>text</p></main>')
})
const settings = {
  PREPAINT_DATA_DIR: dataDir,
  PREPAINT_ALLOW_PRIVATE_ORIGINS: `127.0.0.1/32:${new URL(shop.url).port},127.0.0.1/32:${plain.port}`,
  // It needs no database: this one does not exist.
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
}
after(async () => {
  await shop.close()
  await plain.close()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

it('render prints the finished page and nothing else on stdout', async () => {
  const { code, stdout } = await runPrepaint(['render', `${shop.url}/product/morning-mug`], settings)
  assert.equal(code, 0)
  assert.match(stdout, /^<!DOCTYPE html>/i)
  assert.match(stdout, /<h1>Morning mug<\/h1>/)
  assert.match(stdout, /"@type":"Product"/)
  assert.match(stdout, /In the hand|Better in the hand/, 'what the second API call brought')
  assert.doesNotMatch(stdout, /<script type="module"/)
})

it('render says what came of it with --json; ends with 1 and the reason when it is no page', async () => {
  const { code, json } = await runJson(['render', `${shop.url}/nothing`], settings)
  assert.deepEqual([code, json['outcome'], json['status']], [0, 'rendered', 404])
  const picture = await runPrepaint(['render', `${shop.url}/icon.svg`], settings)
  assert.deepEqual([picture.code, picture.stdout], [1, ''])
  assert.match(picture.stderr, /image\/svg\+xml, not HTML/)
})

it('render sees a site as the node does: the same visitor, with the page that explains it; or as a phone', async () => {
  const around = { ...settings, PREPAINT_PUBLIC_URL: 'https://render.example/' }
  assert.equal((await runPrepaint(['render', plain.url], around)).code, 0)
  const identity = / Safari\/537\.36 Prepaint\/[\d.]+\S* \(\+https:\/\/render\.example\/bot\)$/
  assert.match(seen.at(-1) ?? '', identity)
  assert.equal((await runPrepaint(['render', '--variant', 'mobile', plain.url], settings)).code, 0)
  assert.match(seen.at(-1) ?? '', /Android.* Mobile /)
  assert.equal((await runPrepaint(['render', '--variant', 'tablet', plain.url], settings)).code, 2)
})

it('render prints another form of the page', async () => {
  const markdown = await runPrepaint(['render', '--form', 'markdown', plain.url], settings)
  assert.match(markdown.stdout, /^---\ntitle: "T"\n.*---\n\n# Head\n\ntext\n/s)
  const card = await runJson(['render', '--form', 'card', plain.url], settings)
  assert.match(String(card.json['text']), /<title>T<\/title>/)
  assert.equal((await runPrepaint(['render', '--form', 'pdf', plain.url], settings)).code, 2)
})

it('render refuses a private address that is not allowed, and says how to allow it', async () => {
  const { code, json } = await runJson(['render', 'http://127.0.0.1:9/'], settings)
  assert.equal(code, 1)
  assert.match(String(json['error']), /PREPAINT_ALLOW_PRIVATE_ORIGINS=127\.0\.0\.1\/32:9/)
  assert.equal((await runJson(['render', 'file:///etc/passwd'], settings)).code, 2)
})

const ports = { PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' }

it('doctor tries everything on this machine and leaves nothing behind', async () => {
  const unused = `${dataDir}/unused`
  const { code, json } = await runJson(['doctor'], { ...ports, PREPAINT_DATA_DIR: unused })
  assert.deepEqual([code, json['ok']], [0, true], JSON.stringify(json))
  const checks = json['checks'] as CheckResult[]
  const found = (name: string) => checks.find((check) => check.name === name)?.found ?? 'not looked at'
  assert.match(found('PostgreSQL (private)'), /^\d+\.\d+/)
  assert.match(found('Chromium'), /Chrome\/.*sandbox (on|off)/)
  assert.equal(existsSync(unused), false)
})

it('demo --check sees a miss, a hit, a person and a purge', async () => {
  // What the crawler is given is no matter of how quick the machine is.
  const around = { ...ports, PREPAINT_DATA_DIR: dataDir, PREPAINT_LIVE_WAIT_MS: '25000' }
  const { code, json } = await runJson(['demo', '--check'], around)
  assert.equal(code, 0, JSON.stringify(json))
  const steps = (json['steps'] as StepResult[]).map(({ verdict, textFound }) => `${verdict} ${textFound}`)
  const wanted = 'rendered true, hit true, pass; not-a-crawler false, null true, rendered true, rendered true'
  assert.equal(steps.join(', '), wanted)
})

it('demo --sites has sites of clients, with two months of visits and renders, in trouble, new and paused', async () => {
  const around = {
    ...ports,
    PREPAINT_DATA_DIR: dataDir,
    PREPAINT_ALLOW_PRIVATE_ORIGINS: `127.0.0.1:${plain.port}`,
  }
  const child = spawnPrepaint(['demo', '--sites', '12', '--json'], around, ['ignore', 'pipe', 'inherit'])
  try {
    const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
    const { api, key } = JSON.parse(line) as { api: string; key: string }
    const portfolio = async () => {
      const answer = await fetch(`${api}/api/portfolio`, { headers: { 'x-api-key': key } })
      return (await answer.json()) as {
        counts: Record<string, number>
        domains: {
          custom_domain: string
          state: string
          tags: string[]
          reasons: { kind: string }[]
          visits: { days: number[]; total: number; before: number }
        }[]
      }
    }
    const kindsOfTrouble = async () => {
      const { domains } = await portfolio()
      return domains
        .filter(({ state }) => state === 'trouble')
        .flatMap(({ reasons }) => reasons.map(({ kind }) => kind))
    }
    const expected = ['blocked', 'origin_unreachable', 'crawlers_gone']
    await until(
      'three sites are in trouble',
      async () => {
        const kinds = await kindsOfTrouble()
        return expected.every((kind) => kinds.includes(kind))
      },
      90_000,
    )
    const { counts, domains } = await portfolio()
    assert.deepEqual([counts['all'], counts['paused']], [12, 1])
    const fine = domains.find(({ custom_domain }) => custom_domain === 'atlas-garden.localhost')
    assert.deepEqual([fine?.state, fine?.reasons, fine?.tags], ['ok', [], ['Atlas']])
    assert(fine!.visits.before > 0 && fine!.visits.days.every((visits) => visits > 0))
    const deserted = domains.find(({ custom_domain }) => custom_domain === 'muller-books.localhost')
    assert(deserted!.visits.before > 0 && deserted!.visits.days.at(-1) === 0)

    const get = async (path: string) => {
      const answer = await fetch(api + path, { headers: { 'x-api-key': key } })
      assert.equal(answer.status, 200, path)
      return (await answer.json()) as Record<string, never>
    }
    for (const [name, outcome] of [
      ['oak-bakery.localhost', 'origin-unreachable'],
      ['harbour-bikes.localhost', 'challenge'],
    ]) {
      await until(`${name} has stored pages whose last render failed`, async () => {
        const { pages } = await get(`/api/domains/${name}/pages?outcome=${outcome}`)
        return (pages as unknown as unknown[]).length > 0
      })
    }
    const { domains: lastMonth } = (await get('/api/reports/monthly')) as unknown as {
      domains: { domain: string; visits: number; before: number; changes: unknown[] }[]
    }
    const told = lastMonth.find(({ domain }) => domain === 'atlas-garden.localhost')!
    assert(told.visits > 0 && told.before > 0 && Math.abs(told.visits / told.before - 1) < 0.5)
    const month = new Date().toISOString().slice(0, 7)
    const { domains: thisMonth } = (await get(`/api/reports/monthly?month=${month}`)) as unknown as {
      domains: { domain: string; rendered: number; changes: unknown[] }[]
    }
    const running = thisMonth.find(({ domain }) => domain === 'atlas-garden.localhost') as {
      rendered: number
      changes: { what: string }[]
    }
    const { domains: sites } = (await get('/api/portfolio')) as unknown as {
      domains: { custom_domain: string; renders: { used: number } }[]
    }
    const { renders } = sites.find(({ custom_domain }) => custom_domain === 'atlas-garden.localhost')!
    // Some crawlers of the start may not have waited for their renders.
    assert(renders.used >= running.rendered && renders.used <= running.rendered + 3)
    assert.deepEqual(
      running.changes.filter(({ what }) => what === 'live'),
      [],
    )
    const own = await fetch(`${api}/api/domains`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ custom_domain: 'own.localhost', origin_url: plain.url }),
    })
    assert.equal(own.status, 201, await own.text())
  } finally {
    child.kill()
    await once(child, 'exit')
  }
})

it('demo refuses more sites than its plan has', async () => {
  const { code, stderr } = await runPrepaint(['demo', '--sites', '101'], {
    ...ports,
    PREPAINT_DATA_DIR: dataDir,
  })
  assert.equal(code, 2)
  assert.match(stderr, /--sites must be a whole number in 1\.\.100/)
})
