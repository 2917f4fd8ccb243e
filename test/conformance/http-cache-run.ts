import type http from 'node:http'
import { pathToFileURL } from 'node:url'

import { GOOGLEBOT, PERSON, startTestEdge } from '../support/edge.ts'
import { installedPeer } from '../support/installed-peer.ts'
import { createPagesOf } from './http-cache-pages.ts'

/** A test of the package http-cache-tests, as far as it is looked at here. */
export type CacheTest = {
  id: string
  name: string
  kind?: 'required' | 'optimal' | 'check'
  browser_only?: boolean
  requests: { response_headers?: unknown[][] }[]
}

/** true: it holds; else why it does not: `Setup` when the test could not be carried out at all. */
export type CacheResult = true | [kind: string, message: string]

export type Fetch = (url: string, init?: { headers?: [string, string][] }) => Promise<{ headers: Headers }>

type Handler = (segments: string[], req: http.IncomingMessage, res: http.ServerResponse) => void

type Package = {
  tests: CacheTest[]
  makeCacheTest(test: CacheTest): Promise<void>
  results: Record<string, CacheResult>
  config: { setFetch(call: Fetch): void; setBaseUrl(url: string): void }
  handlers: Record<string, Handler>
  fetch: Fetch
}

/** The package has no types and is made to be run as programs; these are the parts of which they are made. */
async function load(): Promise<Package> {
  const peer = installedPeer('http-cache-tests')
  const folder = peer.folderOf('http-cache-tests')
  const from = (file: string) => import(pathToFileURL(`${folder}/${file}`).href)
  const [suites, test, config] = await Promise.all(
    ['tests/index.mjs', 'client/test.mjs', 'client/config.mjs'].map(from),
  )
  const [handleConfig, handleState, handleTest] = await Promise.all(
    ['config', 'state', 'test'].map((name) => from(`server/handle-${name}.mjs`)),
  )
  const tests: CacheTest[] = suites.default.flatMap((suite: { tests: CacheTest[] }) => suite.tests)
  return {
    tests: tests.filter((one) => one.browser_only !== true),
    makeCacheTest: test.makeCacheTest,
    results: test.testResults,
    config,
    handlers: { config: handleConfig.default, state: handleState.default, test: handleTest.default },
    fetch: peer.require('node-fetch'),
  }
}

/** The tests that are run, with what they ask for. */
export async function cacheTests(): Promise<CacheTest[]> {
  return (await load()).tests
}

/**
 * Runs the suite through an edge in front of the package's own server. As a person, everything passes. As a crawler,
 * the answers of that server are taken for pages, see `http-cache-pages.ts`.
 */
export async function runCacheTests(as: 'person' | 'crawler'): Promise<Map<string, CacheResult>> {
  const { tests, makeCacheTest, results, config, handlers, fetch } = await load()
  const pagesOf = createPagesOf(fetch)
  const edge = await startTestEdge({
    liveWaitMs: 60_000,
    origin(req, res) {
      const [, name = '', ...segments] = new URL(req.url ?? '/', 'http://origin.example').pathname.split('/')
      const handle = handlers[name]
      if (handle === undefined) res.writeHead(404).end()
      else handle(segments, req, res)
    },
    render: (job) => pagesOf.render(job.originUrl, job.page.path),
  })
  const talk = console.log
  try {
    await edge.set(`settings = '{"origin_cache_control": "respect"}'`)
    await edge.settled()
    console.log = () => {}
    config.setBaseUrl(`http://127.0.0.1:${edge.port}`)
    config.setFetch((url, init = {}) => {
      // Its pauses are real time.
      edge.wait(Date.now() - edge.nowMs())
      const isPage = as === 'crawler' && new URL(url).pathname.startsWith('/test/')
      const who: [string, string][] = [
        ['Host', 'red.example'],
        ['User-Agent', isPage ? GOOGLEBOT : PERSON],
      ]
      const request = { ...init, headers: [...(init.headers ?? []), ...who] }
      return isPage ? pagesOf.fetch(url, request) : fetch(url, request)
    })
    for (const id of Object.keys(results)) delete results[id]
    // It writes into its own tests.
    const own = structuredClone(tests)
    await Promise.all(own.map((test) => makeCacheTest(as === 'crawler' ? pagesOf.adapt(test) : test)))
    return new Map(Object.entries(results).sort(([one], [other]) => (one < other ? -1 : 1)))
  } finally {
    console.log = talk
    await edge.close()
  }
}
