/** docs/platform.md says what renders answer, and why where a person's browser answers otherwise. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { openRenderer } from '../../support/renderer.ts'
import { differences } from './differences.ts'
import { documentOf, measuredIn } from './document.ts'
import { FEATURES } from './features.ts'
import { renderAnswers } from './render-answers.ts'

const document = readFileSync(path.join(import.meta.dirname, '../../../docs/platform.md'), 'utf8')
const features = Object.values(FEATURES).flatMap((group) => Object.entries(group))

it('a render answers every question as docs/platform.md says', async () => {
  const answers = await renderAnswers(await openRenderer())
  assert.deepEqual(differences(answers, measuredIn(document)['a render']), [])
})

it('docs/platform.md is what tools/platform-table.ts writes', () => {
  assert.equal(documentOf(measuredIn(document)), document)
})

it('no two features have the same name', () => {
  assert.equal(new Set(features.map(([name]) => name)).size, features.length)
})

it('an answer that a person’s browser does not give has a reason, and no other answer has one', () => {
  const answers = measuredIn(document)['a render']
  const different = features.filter(([name, { person }]) => answers[name] !== person).map(([name]) => name)
  const reasoned = features.filter(([, { why }]) => why !== undefined).map(([name]) => name)
  assert.deepEqual(different, reasoned)
})
