import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ruleSentence } from './rule-sentence.ts'
import type { RuleForm } from './values.ts'

const sentence = (form: Partial<RuleForm>, more: object | null = null) =>
  ruleSentence({
    ...{ key: 'a', path: '/a*', action: '', freshHours: '' },
    ...form,
    more: more === null ? '' : JSON.stringify(more),
  })

it('says what a rule does', () => {
  assert.equal(sentence({ action: 'pass' }), 'Crawlers that ask for /a* get the origin.')
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
  assert.match(sentence({ action: 'gone' }, { when: { variant: 'mobile' } }), /never matches\.$/)
})

it('says nothing where there is nothing to say', () => {
  assert.equal(sentence({}), '')
  assert.equal(sentence({ path: '', action: 'pass' }), '')
  assert.equal(ruleSentence({ key: 'a', path: '/a', action: 'pass', freshHours: '', more: '{' }), '')
})
