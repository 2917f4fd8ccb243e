/** Client-rendered applications that nobody here wrote, behind a whole node, asked for by a crawler and a person. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { executableScripts, readableText } from '../render/judge.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT, PERSON } from '../support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../support/node-process.ts'
import { openAccount, registerDomain } from '../support/tenant.ts'
import { type App, startAppOrigin } from './app.ts'
import { openCatalogue } from './catalogue.ts'

const dataDir = makeDataDir()
const generated = await mkdtemp(path.join(tmpdir(), 'prepaint-apps-'))
const apps = await openCatalogue(generated)
const origins = new Map<App, Awaited<ReturnType<typeof startAppOrigin>>>()
let node: NodeProcess
const domainOf = ({ name }: App) => `${name}.example`
const get = (app: App, path: string, userAgent: string) =>
  edgeRequest(node.edge, { host: domainOf(app), path, userAgent })

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
        for (const wanted of page.texts) assert(text.includes(wanted), `"${wanted}" is not read in: ${text}`)
        assert.deepEqual(executableScripts(html), [])

        const second = await get(app, page.path, GOOGLEBOT)
        assert.equal(second.verdict, 'hit')
        assert(second.body.equals(first.body))
      })
    }
  })
}
