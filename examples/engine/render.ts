/** Renders one page without server or database: `node examples/engine/render.ts URL [data directory] [allowed private addresses] [browser]`. */
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { startEngine } from '@prepaint/engine'
import { parseAllowedRange } from '@prepaint/outbound/address-range'

const [page = 'https://www.example.com/', dataDir = '.prepaint', allowed = '', chromium] =
  process.argv.slice(2)
const url = new URL(page)
const range = parseAllowedRange(allowed)
const allowedPrivateOrigins = range === null ? [] : [range]
const customDomain = url.hostname as DomainName
const path = (url.pathname + url.search) as PagePath
const signal = AbortSignal.timeout(60_000)

const engine = await startEngine({ dataDir, chromium, identity: 'Example/1.0', allowedPrivateOrigins })
const { outcome } = await engine.render({ customDomain, originUrl: url.origin, path, signal })
console.log(outcome.kind === 'rendered' ? outcome.html : outcome)
await engine.close()
