/**
 * The main job on real input: client-rendered applications that nobody here
 * wrote, each behind a whole running node, asked for by a crawler and a person.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../support/node-process.ts'
import { openAccount, registerDomain } from '../support/tenant.ts'
import type { App } from './app.ts'
import { startAppOrigin } from './app-origin.ts'
import { openCatalogue } from './catalogue.ts'
import { executableScripts, readableText } from './snapshot-text.ts'

const dataDir = makeDataDir()
const generated = await mkdtemp(path.join(tmpdir(), 'prepaint-apps-'))
const apps = await openCatalogue(generated)
const origins = new Map<App, Awaited<ReturnType<typeof startAppOrigin>>>()
let node: NodeProcess

before(async () => {
  // On a slow machine the largest of them take longer than crawlers usually wait.
  const settings = { PREPAINT_LOG_LEVEL: 'debug', PREPAINT_LIVE_WAIT_MS: '25000' }
  node = await startNodeProcess(dataDir, settings)
  const { key } = await openAccount(node, { email: 'apps@example.com', plan: 'enterprise' })
  for (const app of apps) {
    const origin = await startAppOrigin(app)
    origins.set(app, origin)
    await registerDomain(node, key, { customDomain: domainOf(app), originUrl: origin.url })
  }
})

after(async () => {
  await node?.stop()
  for (const origin of origins.values()) await origin.close()
  await rm(generated, { recursive: true, force: true })
  assert.deepEqual(await clearDataDir(dataDir), [])
})

for (const app of apps) {
  describe(`${app.name} (${app.framework})`, () => {
    for (const page of app.pages) {
      it(`${page.path}: a crawler reads what its scripts write, a person gets the origin's bytes`, async () => {
        const sent = Buffer.from(await (await fetch(origins.get(app)!.url + page.path)).arrayBuffer())
        for (const text of page.texts) {
          assert(!sent.includes(text), `"${text}" is in what the origin sends: it would prove nothing`)
        }

        const person = await get(app, page.path, PERSON)
        assert.match(person.verdict, /^pass; /)
        assert(person.body.equals(sent), 'a person got other bytes than the origin sent')

        const first = await get(app, page.path, GOOGLEBOT)
        assert.equal(first.verdict, 'rendered', node.log().slice(-4000))
        assert.equal(first.status, 200)
        const html = first.body.toString()
        const text = readableText(html)
        assert.deepEqual(
          page.texts.filter((wanted) => !text.includes(wanted)),
          [],
          `is missing from: ${text.slice(0, 2000)}`,
        )
        assert.deepEqual(executableScripts(html), [])

        const second = await get(app, page.path, GOOGLEBOT)
        assert.equal(second.verdict, 'hit')
        assert(second.body.equals(first.body))

        // A snapshot is a page like any other: rendered again, it reads the same.
        origins.get(app)!.added.set('/its-snapshot', first.body)
        const again = await get(app, `/its-snapshot?of=${encodeURIComponent(page.path)}`, GOOGLEBOT)
        assert.equal(again.verdict, 'rendered', node.log().slice(-4000))
        assert.equal(readableText(again.body.toString()), text)
      })
    }

    it('was asked for no file that this test forgot to serve', () => {
      // What no site has is asked for on purpose: its answer tells what "not found" looks like there.
      // And what the sibling `/guide` fetched, `/guide.md`, is fetched early for every new page beside it.
      const known = [...(app.absent ?? []), '/favicon.ico', '/robots.txt']
      const missing = origins.get(app)!.missing.filter((asked) => !known.includes(asked))
      const ours = /prepaint-probe|^\/its-snapshot/
      assert.deepEqual(
        missing.filter((asked) => !ours.test(asked)),
        [],
      )
    })
  })
}

function get(app: App, pagePath: string, userAgent: string) {
  return edgeRequest(node.edge, { host: domainOf(app), path: pagePath, userAgent })
}

function domainOf(app: App): string {
  return `${app.name}.example`
}
