/** docs/platform.md says what browsers answer by themselves: the packaged one, and Debian's where they are. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { findBrowser } from '@prepaint/engine/browser-binary'
import { makeDataDir, removeDir } from '../../support/data-dir.ts'
import { differences } from './differences.ts'
import { measuredIn } from './document.ts'
import { plainAnswers } from './plain-answers.ts'

/** They tell how fast the machine is, or whether the window of a new browser is there yet. */
const DEPEND_ON_LOAD = [
  'a timer of 100 ms takes about that',
  'requestIdleCallback',
  'voices of speechSynthesis',
  'a film of the network',
  'outerWidth at least innerWidth',
  'document.hasFocus()',
  'an element is focused',
]

it('the packaged browser answers by itself as docs/platform.md says', async (t) => {
  const dataDir = makeDataDir()
  t.after(() => removeDir(dataDir))
  const binary = await findBrowser({ chromium: null, dataDir, systemDirs: [] })
  assert(existsSync(binary.executable))
  const document = readFileSync(path.join(import.meta.dirname, '../../../docs/platform.md'), 'utf8')
  const expected = { ...measuredIn(document)['packaged shell'] }
  const answers = await plainAnswers(binary)
  for (const name of DEPEND_ON_LOAD) {
    delete expected[name]
    delete answers[name]
  }
  assert.deepEqual(differences(answers, expected), [])
})
