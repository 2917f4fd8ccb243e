import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { DEFAULT_DOMAIN_SETTINGS, domainSettingsPatchSchema } from '../../../../src/sites/domain-settings.ts'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { settingsProblems } from './problems.ts'
import { aheadPerDay, fieldsOf, formOf, settingsOf, withField } from './values.ts'

const domainWith = (settings: Partial<Settings>): DomainWithSettings => ({
  id: 1,
  custom_domain: 'shop.example.com',
  origin_url: 'https://origin.example.com',
  ssl_enabled: false,
  renders_used: 0,
  monthly_render_limit: 1_000,
  is_active: true,
  created_at: '2026-11-15T12:30:00.000Z',
  updated_at: '2026-11-15T12:30:00.000Z',
  settings: { ...DEFAULT_DOMAIN_SETTINGS, ...settings },
  indexnow_key: null,
})

const problemsOf = (change: Partial<ReturnType<typeof formOf>>) =>
  settingsProblems({ ...formOf(domainWith({})), ...change }, () => null)

describe('the settings form', () => {
  it('early refreshes: a share of the month from 0 to 100, and how many a day', () => {
    for (const percent of [0, '5', 100]) assert.deepEqual(problemsOf({ aheadPercent: percent }), {})
    for (const percent of ['', -1, 101, 1.5, 'x']) {
      assert.deepEqual(Object.keys(problemsOf({ aheadPercent: percent })), ['aheadPercent'])
    }
    assert.equal(aheadPerDay({ monthly_render_limit: 1_000 }, 10), 3)
    assert.equal(aheadPerDay({ monthly_render_limit: 1_000 }, ''), 0)
  })

  it('saving without an edit changes nothing', () => {
    const settings: Settings = {
      ...DEFAULT_DOMAIN_SETTINGS,
      fresh_seconds: 100,
      query: ['page', 'color'],
      rules: [
        { path: '/cart*', action: 'pass' },
        { path: '/news*', fresh_seconds: 7 },
      ],
      categories: { ai: 'pass', search: 'render' },
      https_redirect: true,
      soft_404: 'store',
      devices: 'auto',
      refresh_on_deploy: false,
      refresh_ahead_percent: 7,
      render: { locale: 'de-CH', viewport: { width: 400, height: 800 } },
      crawlers: { add: [{ pattern: 'OurMonitor', category: 'seo' }], remove: ['curl'] },
    }
    const saved = settingsOf(formOf(domainWith(settings)))
    assert.deepEqual({ ...settings, ...saved }, settings)
  })

  it('sends what the server accepts', () => {
    const form = formOf(domainWith({}))
    form.query = 'list'
    form.queryNames = ' page\ncolor, page '
    form.rules = [
      { key: 'a', path: ' /cart* ', action: 'pass', freshHours: 0.5, more: '{"render": {"wait_for": "#a"}}' },
    ]
    form.soft404 = 'answer'
    assert.deepEqual(
      settingsProblems(form, () => null),
      {},
    )
    const sent = settingsOf(form)
    assert.deepEqual(domainSettingsPatchSchema.parse(sent), sent)
    assert.deepEqual(sent.query, ['page', 'color'])
    assert.deepEqual(sent.rules, [
      { render: { wait_for: '#a' }, path: '/cart*', action: 'pass', fresh_seconds: 1_800 },
    ])
    assert.equal(sent.soft_404, 'answer')
    assert.equal(sent.categories, undefined, 'the crawlers screen saves them')
  })

  it('names the field that is wrong', () => {
    const rule = { key: 'a', path: 'cart', action: '', freshHours: '', more: '' } as const
    const crawlers = { added: [{ key: 'a', pattern: 'x*', category: 'ai' as const }], removed: 'abc\nx' }
    assert.deepEqual(Object.keys(problemsOf({ crawlers })), ['crawlers.added.0.pattern', 'crawlers.removed'])
    const visitor = { userAgent: 'ü', width: 199, height: '', locale: '-', timeZone: 'Mars' }
    assert.deepEqual(Object.keys(problemsOf({ visitor })), [
      'visitor.userAgent',
      'visitor.width',
      'visitor.height',
      'visitor.locale',
      'visitor.timeZone',
    ])
    assert.deepEqual(Object.keys(problemsOf({ freshHours: '' })), ['freshHours'])
    assert.deepEqual(Object.keys(problemsOf({ staleHours: -1 })), ['staleHours'])
    assert.deepEqual(Object.keys(problemsOf({ query: 'list', queryNames: ' ' })), ['queryNames'])
    assert.deepEqual(Object.keys(problemsOf({ rules: [rule] })), ['rules.0.path', 'rules.0.freshHours'])
  })

  it('allows at most ten years, like the server', () => {
    assert.deepEqual(problemsOf({ keepDays: 3_660 }), {})
    assert.deepEqual(problemsOf({ keepDays: 3_661 }), { keepDays: 'Enter at most ten years' })
  })
})

describe('the JSON of a rule, edited by its fields', () => {
  const set = (more: string, place: string[], value: unknown) => fieldsOf(withField(more, place, value))
  it('gets a value at its place, and keeps the others', () => {
    const more = '{"stale_seconds": 9, "render": {"block": ["ads"]}}'
    assert.deepEqual(set(more, ['render', 'wait_for'], '#price'), {
      ...{ stale_seconds: 9, render: { block: ['ads'], wait_for: '#price' } },
    })
    assert.deepEqual(set('', ['change', 'head', 'title'], 'New'), { change: { head: { title: 'New' } } })
  })

  it('loses what is emptied, with the objects around it', () => {
    const more = '{"change": {"head": {"title": "New"}}, "render": {"block": ["ads"]}}'
    assert.deepEqual(set(more, ['change', 'head', 'title'], ''), { render: { block: ['ads'] } })
    assert.equal(withField('{"change": {"consent": true}}', ['change', 'consent'], false), '')
    assert.equal(withField('{"render": {"block": ["ads"]}}', ['render', 'block'], []), '')
  })

  it('cannot be edited so while it is no JSON object', () => {
    for (const more of ['{', '[]', '1', 'null']) assert.equal(fieldsOf(more), null)
  })
})
