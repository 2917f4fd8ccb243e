/** Renders one page without server or database: `node examples/engine/render.ts URL [allowed private addresses]`. */
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { startEngine } from '@prepaint/engine'
import { parseAllowedRange } from '@prepaint/outbound/address-range'

const [page = 'https://www.example.com/', allowed = ''] = process.argv.slice(2)
const { hostname, origin, pathname, search } = new URL(page)
const range = parseAllowedRange(allowed)

const engine = await startEngine({
  dataDir: process.env['PREPAINT_DATA_DIR'] ?? path.join(tmpdir(), 'prepaint-engine'),
  chromium: process.env['PREPAINT_CHROMIUM'] ?? null,
  identity: 'Example/1.0',
  allowedPrivateOrigins: range === null ? [] : [range],
})
const { outcome } = await engine.render({
  customDomain: hostname as DomainName,
  originUrl: origin,
  path: (pathname + search) as PagePath,
  signal: AbortSignal.timeout(60_000),
})
console.log(outcome.kind === 'rendered' ? outcome.html : outcome)
await engine.close()
