/**
 * `node bench/floor.ts [--sites shop,docute,swagger-ui] [--pages 12] [--warm-up-pages 40]`
 * Compares renders, phase by phase, with plain loads up to the last content change. The pages must have no timers.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { machineLine } from './figures.ts'
import { type FloorFigures, floorTables, measureFloor } from './floor-measure.ts'
import { givenBrowser } from './given-browser.ts'

const { values } = parseArgs({
  options: {
    sites: { type: 'string', default: 'shop,docute,swagger-ui' },
    pages: { type: 'string', default: '12' },
    'warm-up-pages': { type: 'string', default: '40' },
  },
})

const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-floor-'))
await chmod(dir, 0o711)
const loadBefore = loadavg()[0]!
const figures: FloorFigures[] = []
try {
  const browser = await givenBrowser(undefined, dir)
  const [pages, warmUpPages] = [Number(values.pages), Number(values['warm-up-pages'])]
  for (const name of values.sites.split(','))
    figures.push(await measureFloor(name, { browser, pages, warmUpPages, dir }))
} finally {
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
}
const date = new Date().toISOString().slice(0, 10)
console.log(`${date}, ${machineLine()}, load before ${loadBefore.toFixed(1)}\n`)
console.log(floorTables(figures))
