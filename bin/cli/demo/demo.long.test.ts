import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { runJson } from '../../../test/support/command-line.ts'
import { clearDataDir, makeDataDir } from '../../../test/support/data-dir.ts'
import type { StepResult } from './steps.ts'

const dataDir = makeDataDir()
after(async () => assert.deepEqual(await clearDataDir(dataDir), []))

it('demo --check sees a miss, a hit, a person and a purge', async () => {
  // Ports that are taken are no obstacle: another node may be running.
  const ports = { PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' }
  // What the crawler is given is no matter of how quick the machine is.
  const settings = { PREPAINT_DATA_DIR: dataDir, PREPAINT_LIVE_WAIT_MS: '25000', ...ports }
  const { code, json } = await runJson(['demo', '--check'], settings)
  assert.equal(code, 0, JSON.stringify(json))
  assert.deepEqual(
    (json['steps'] as StepResult[]).map(({ verdict, textFound, ok }) => [verdict, textFound, ok]),
    [
      ['rendered', true, true],
      ['hit', true, true],
      ['pass; not-a-crawler', false, true],
      [null, true, true],
      ['rendered', true, true],
      ['rendered', true, true],
    ],
  )
})
