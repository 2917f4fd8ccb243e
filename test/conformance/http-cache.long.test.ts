/** The package http-cache-tests asks an edge in front of its own server, as a person: everything passes. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openEdge, PERSON } from '../support/edge.ts'
import { installedPeer } from '../support/installed-peer.ts'
import recorded from './http-cache-exceptions.json' with { type: 'json' }

type CacheTest = { id: string; browser_only?: boolean }
/** true: it holds; else why it does not. */
type CacheResult = true | [kind: string, message: string]
type Handler = (segments: string[], req: http.IncomingMessage, res: http.ServerResponse) => void
type Init = { headers?: [string, string][] }

// The package has no types and is made to be run as programs; these are the parts of which they are made.
const peer = installedPeer('http-cache-tests')
const load = (file: string) => import(pathToFileURL(`${peer.folderOf('http-cache-tests')}/${file}`).href)
const [suites, client, config] = await Promise.all(
  ['tests/index.mjs', 'client/test.mjs', 'client/config.mjs'].map(load),
)
const handlers = new Map<string, Handler>()
for (const name of ['config', 'state', 'test']) {
  handlers.set(name, (await load(`server/handle-${name}.mjs`)).default)
}
const fetch: (url: string, init: Init) => Promise<unknown> = peer.require('node-fetch')
const all: CacheTest[] = suites.default.flatMap((suite: { tests: CacheTest[] }) => suite.tests)
const tests = all.filter((one) => one.browser_only !== true)

const edge = await openEdge({
  origin(req, res) {
    const [, name = '', ...segments] = new URL(req.url ?? '/', 'http://origin.example').pathname.split('/')
    const handle = handlers.get(name)
    if (handle === undefined) res.writeHead(404).end()
    else handle(segments, req, res)
  },
})

// Proves decided "Conditional and range requests"
it('http-cache-tests hold but for the listed exceptions', async (t) => {
  t.mock.method(console, 'log', () => {})
  config.setBaseUrl(`http://127.0.0.1:${edge.port}`)
  config.setFetch((url: string, { headers = [], ...init }: Init = {}) => {
    // Its pauses are real time.
    edge.wait(Date.now() - edge.nowMs())
    return fetch(url, { ...init, headers: [...headers, ['Host', 'red.example'], ['User-Agent', PERSON]] })
  })
  await Promise.all(tests.map((test) => client.makeCacheTest(test)))
  const results = new Map(Object.entries<CacheResult>(client.testResults))
  assert.deepEqual([...results.keys()].sort(), tests.map(({ id }) => id).sort())

  // By reason. A name that ends with `*` is every test whose name begins so.
  const named = Object.values<string[]>(recorded.exceptions).flat()
  const exceptions = named.flatMap((name) =>
    name.endsWith('*') ? tests.map(({ id }) => id).filter((id) => id.startsWith(name.slice(0, -1))) : name,
  )
  const failed = [...results].filter(([, result]) => result !== true)
  const unlisted = failed.filter(([id]) => !exceptions.includes(id)).map(([id, why]) => `${id}: ${why}`)
  assert.deepEqual(unlisted, [], 'no longer holds')
  const ids = failed.map(([id]) => id).sort()
  assert.deepEqual(ids, exceptions.sort(), 'each exception once, and only what fails')
})
