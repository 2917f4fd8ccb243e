import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

import { openFolder } from '../../test/support/folder.ts'
import { DEFAULT_PLANS, planNamed, readPlans } from './plans.ts'

const folder = openFolder()
const sound = { site_limit: null, monthly_render_limit: 10, api_keys: true, webhooks: false }

// Proves decided "Plans (default catalogue)"
it('reads a catalogue from a file', () => {
  assert.deepEqual(read(JSON.stringify({ gold: sound })), { gold: sound })
})

// Proves interface 8/10, decided "Plans (default catalogue)"
it('the default catalogue: what each plan may', () => {
  assert.deepEqual(
    Object.entries(DEFAULT_PLANS).map(([name, plan]) => [name, ...Object.values(plan)]),
    [
      ['starter', 1, 1_000, false, false],
      ['pro', 5, 10_000, false, false],
      ['agency', 25, 50_000, true, false],
      ['agency_plus', 100, 200_000, true, true],
      ['enterprise', null, 1_000_000, true, true],
    ],
  )
})

describe('a catalogue that is wrong is refused, with every problem named', () => {
  const cases: [string, string, RegExp][] = [
    ['no JSON', '{', /JSON/],
    ['no object', '[]', /catalogue: /],
    ['no plan', '{}', /at least one plan/],
    ['a missing field', '{"gold": {"site_limit": 1}}', /gold\.monthly_render_limit.*gold\.api_keys/],
    ['an unknown field', JSON.stringify({ gold: { ...sound, price: 3 } }), /gold: .*price/],
    ['a negative limit', JSON.stringify({ gold: { ...sound, site_limit: -1 } }), /gold\.site_limit/],
    [
      'a broken limit',
      JSON.stringify({ gold: { ...sound, monthly_render_limit: 1.5 } }),
      /monthly_render_limit/,
    ],
    ['a name with blanks', JSON.stringify({ 'Gold plan': sound }), /lower case letters/],
  ]
  for (const [name, text, message] of cases) {
    it(name, () => assert.throws(() => read(text), message))
  }

  it('a file that is not there', () => {
    assert.throws(() => readPlans('/does/not/exist.json'), /plan catalogue \/does\/not\/exist\.json: ENOENT/)
  })
})

it('a plan that the catalogue does not have allows nothing', () => {
  for (const name of ['gold', 'constructor', '__proto__']) {
    assert.deepEqual(Object.values(planNamed(DEFAULT_PLANS, name)), [0, 0, false, false])
  }
  assert.equal(planNamed(DEFAULT_PLANS, 'agency').site_limit, 25)
})

function read(text: string) {
  const file = path.join(folder, 'plans.json')
  writeFileSync(file, text)
  return readPlans(file)
}
