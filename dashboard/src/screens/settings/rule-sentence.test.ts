import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ruleSentence } from './rule-sentence.ts'
import type { RuleForm } from './values.ts'

const sentence = (
  form: Partial<RuleForm>,
  more: object | null = null,
  devices: 'one' | 'both' | 'auto' = 'one',
) => {
  const rule = { key: 'a', path: '/a*', action: '', freshHours: '' } as const
  return ruleSentence({ ...rule, ...form, more: more === null ? '' : JSON.stringify(more) }, devices)
}

it('says what a rule does', () => {
  for (const more of [null, { change: { consent: true }, render: { wait_for: 'a' }, keep_seconds: 5 }]) {
    assert.equal(sentence({ action: 'pass' }, more), 'Crawlers that ask for /a* get the origin.')
  }
  assert.equal(
    sentence({ freshHours: 2 }, { when: { categories: ['search', 'ai'], query: { lang: '*' } } }),
    'Crawlers of category search or ai that ask for /a* with lang get pages that are fresh for 2 h.',
  )
  assert.equal(
    sentence(
      { action: 'render' },
      { render: { wait_for: '#p', block: ['chat'] }, change: { remove: ['.x', '.y'], consent: true } },
    ),
    'Crawlers that ask for /a* get rendered pages, also where the path looks like a file, get pages only once #p is there, ' +
      'get pages without chat, do not get .x and .y and do not get consent banners.',
  )
  assert.equal(
    sentence({}, { render: { user_agent: 'A/1', viewport: { width: 800, height: 600 }, time_zone: 'UTC' } }),
    'Crawlers that ask for /a* get pages rendered with the user agent A/1, a window of 800 by 600 pixels and the time zone UTC.',
  )
  const phones = { when: { variant: 'mobile', categories: ['search'] } }
  for (const devices of ['auto', 'both'] as const) {
    assert.equal(
      sentence({ action: 'gone' }, phones, devices),
      'Crawlers for phones of category search that ask for /a* get 410, with the cached page if there is one.',
    )
  }
  assert.match(sentence({ action: 'gone' }, phones), /never matches\.$/)
  assert.doesNotMatch(sentence({ action: 'gone' }, { when: { variant: 'desktop' } }), /never matches/)
})

it('says nothing where there is nothing to say', () => {
  assert.equal(sentence({}), '')
  assert.equal(sentence({ path: '', action: 'pass' }), '')
  assert.equal(ruleSentence({ key: 'a', path: '/a', action: 'pass', freshHours: '', more: '{' }, 'one'), '')
})
