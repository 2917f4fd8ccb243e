import { createRequire } from 'node:module'

import { endWithParent, type PeerOptions } from './peer-process.ts'

type Prerender = {
  (options: Record<string, unknown>): { use(plugin: unknown): void; start(): void }
  sendPrerenderHeader(): unknown
  browserForceRestart(): unknown
  addMetaTags(): unknown
  removeScriptTags(): unknown
  httpHeaders(): unknown
}

const { port, debuggingPort, executable } = JSON.parse(process.argv[2]!) as PeerOptions
const require = createRequire(import.meta.url)
endWithParent()

// `local`: requesting the protocol description ends the packaged browser, which was built without that file.
type Connect = ((options: Record<string, unknown>) => unknown) & object
const library = require.resolve('chrome-remote-interface')
const connect = require(library) as Connect
require.cache[library]!.exports = Object.assign(
  (options: Record<string, unknown>) => connect({ ...options, local: true }),
  connect,
)
const prerender = require('prerender') as Prerender

// Copied from its server.js, except for the browser's path and permission to run as root.
const server = prerender({
  port,
  host: '127.0.0.1',
  chromeLocation: executable,
  browserDebuggingPort: debuggingPort,
  extraChromeFlags: ['--no-sandbox'],
})
server.use(prerender.sendPrerenderHeader())
server.use(prerender.browserForceRestart())
server.use(prerender.addMetaTags())
server.use(prerender.removeScriptTags())
server.use(prerender.httpHeaders())
server.start()
