import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { firstProblem } from '../../../../src/api/http/validation.ts'
import { DEFAULT_DOMAIN_SETTINGS, domainSettingsPatchSchema } from '../../../../src/sites/domain-settings.ts'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import { problemOfServer, settingsProblems } from './problems.ts'
import { ruleSentence } from './rule-sentence.ts'
import { aheadPerDay, fieldsOf, formOf, type RuleForm, settingsOf, withField } from './values.ts'

const domainWith = (settings: Partial<Settings>): DomainWithSettings => ({
  ...{
    id: 1,
    custom_domain: 'shop.example.com',
    origin_url: 'https://origin.example.com',
    ssl_enabled: false,
  },
  ...{ renders_used: 0, monthly_render_limit: 1_000, is_active: true, indexnow_key: null },
  ...{ created_at: '2026-11-15T12:30:00.000Z', updated_at: '2026-11-15T12:30:00.000Z' },
  settings: { ...DEFAULT_DOMAIN_SETTINGS, ...settings },
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
    const visitor = { userAgent: 'ü', width: 199, height: '', locale: '-', timeZone: 'Mars' } as const
    for (const [change, fields] of [
      [{ crawlers }, 'crawlers.added.0.pattern crawlers.removed'],
      [{ visitor }, 'visitor.userAgent visitor.width visitor.height visitor.locale visitor.timeZone'],
      [{ freshHours: '' }, 'freshHours'],
      [{ staleHours: -1 }, 'staleHours'],
      [{ query: 'list', queryNames: ' ' }, 'queryNames'],
      [{ rules: [rule] }, 'rules.0.path rules.0.freshHours'],
    ] as const)
      assert.equal(Object.keys(problemsOf(change as Parameters<typeof problemsOf>[0])).join(' '), fields)
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

const body = z.object({ settings: domainSettingsPatchSchema })
const answerTo = (settings: object) => firstProblem(body, { settings }) ?? assert.fail('the server takes it')

it('an error of the server is shown at its field', () => {
  for (const [settings, field] of [
    [{ fresh_seconds: -1 }, 'freshHours'],
    [{ stale_seconds: 'x' }, 'staleHours'],
    [{ keep_seconds: 1e12 }, 'keepDays'],
    [{ crawler_wait_seconds: 0 }, 'crawlerWaitSeconds'],
    [{ refresh_ahead_percent: 101 }, 'aheadPercent'],
    [{ query: 'some' }, 'queryNames'],
    [{ rules: ['/a', 'b'].map((path) => ({ path, action: 'pass' })) }, 'rules.1.path'],
    [{ rules: [{ path: '/a' }] }, 'rules.0.path'],
    [{ rules: [{ path: '/a', render: { wait_for: '..a' } }] }, 'rules.0.more'],
    [{ rules: [{ path: '/a', fresh_seconds: -1 }] }, 'rules.0.freshHours'],
    [{ crawlers: { add: [{ pattern: 'x', category: 'ai' }] } }, 'crawlers.added.0.pattern'],
    [{ crawlers: { remove: ['abc', 'x'] } }, 'crawlers.removed'],
    [{ render: { user_agent: 'ü' } }, 'visitor.userAgent'],
    [{ render: { viewport: { width: 1, height: 500 } } }, 'visitor.width'],
    [{ render: { viewport: { width: 500, height: 1 } } }, 'visitor.height'],
    [{ render: { locale: '-' } }, 'visitor.locale'],
    [{ render: { time_zone: 'Mars/Olympus' } }, 'visitor.timeZone'],
  ] as const) {
    const found = problemOfServer(answerTo(settings))
    assert.equal(found?.field, field)
    assert(found.problem.length > 3)
  }
  assert.deepEqual(problemOfServer('Invalid origin URL: must name a host'), {
    field: 'origin',
    problem: 'must name a host',
  })
  for (const other of ['Sign in first', 'Internal error', 'Domain not found']) {
    assert.equal(problemOfServer(other), null)
  }
})

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
  const half = ['{"change":null}', '{"change":{"remove":".x"}}', '{"render":{"viewport":null}}']
  for (const more of ['{', ...half, '{"when":{"categories":"ai"}}']) {
    assert.equal(ruleSentence({ key: 'a', path: '/a', action: '', freshHours: '', more }, 'one'), '', more)
    assert.equal(fieldsOf(more), null, more)
  }
})
