import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAX_RULES } from '@prepaint/contract/rules/schema.ts'
import {
  DEFAULT_DOMAIN_SETTINGS,
  domainSettingsPatchSchema,
  MAX_PATTERNS,
} from '@prepaint/contract/settings/domain-settings.ts'
import { problemsOf as problemsOfSchema } from '@prepaint/contract/validation.ts'
import { z } from 'zod'
import type { DomainWithSettings, Settings } from '../../api/types.ts'
import type { SettingsPage } from '../../route-map.ts'
import { problemInWords, settingsProblems, shownProblem } from './problems.ts'
import { countValues, RULE_GROUPS, TYPED } from './rule-parts.ts'
import { ruleSentence } from './rule-sentence.ts'
import { aheadPerDay, settingChange } from './setting-fields.ts'
import { fieldsOf, formOf, type Rule, settingsOf, withField } from './values.ts'

/** A domain with only what the form shows. */
const domainWith = (settings: Partial<Settings>) => {
  const all = { ...DEFAULT_DOMAIN_SETTINGS, ...settings }
  return { origin_url: 'https://origin.example.com', is_active: true, settings: all } as DomainWithSettings
}

const PAGES: SettingsPage[] = ['site', 'freshness', 'paths', 'crawlers', 'rendering', 'forms', 'sitemap']

/** The problems of all pages with a form. */
const problemsOf = (change: Partial<ReturnType<typeof formOf>>) => {
  const form = { ...formOf(domainWith({})), ...change }
  const problems = PAGES.flatMap((page) => Object.entries(settingsProblems(form, page, () => null)))
  return Object.fromEntries(problems)
}

/** What all pages with a form would send. */
const allSettings = (form: ReturnType<typeof formOf>): Partial<Settings> =>
  Object.fromEntries(PAGES.flatMap((page) => Object.entries(settingsOf(form, page))))

/** Where one of the pages shows a problem, and on which. */
const shownOnPage = (problem: Parameters<typeof shownProblem>[0], form: ReturnType<typeof formOf>) => {
  for (const page of PAGES) {
    const shown = shownProblem(problem, form, page)
    if (shown !== null) return { page, ...shown }
  }
  return null
}

const plainWith = (change: Partial<ReturnType<typeof formOf>['plain']>) => ({
  plain: { ...formOf(domainWith({})).plain, ...change },
})

describe('the settings form', () => {
  it('takes a share of the month from 0 to 100 for early refreshes', () => {
    const problems = (percent: number | string) => problemsOf(plainWith({ refresh_ahead_percent: percent }))
    for (const percent of [0, 100]) assert.deepEqual(problems(percent), {})
    for (const percent of ['', -1, 101, 1.5]) {
      assert.deepEqual(Object.keys(problems(percent)), ['plain.refresh_ahead_percent'])
    }
  })

  it('says how many early refreshes a day the share allows', () => {
    assert.equal(aheadPerDay({ monthly_render_limit: 1_000 }, 10), 3)
    assert.equal(aheadPerDay({ monthly_render_limit: 1_000 }, Number('')), 0)
  })

  it('changes nothing if it is saved without an edit', () => {
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
    const saved = allSettings(formOf(domainWith(settings)))
    assert.deepEqual({ ...settings, ...saved }, settings)
  })

  it('sends only what the server accepts', () => {
    const form = formOf(domainWith({}))
    form.query = 'list'
    form.queryNames = ' page\ncolor, page '
    const rule = { path: '/cart*', fresh_seconds: 1_800, render: { wait_for: '#a' } }
    form.rules = [{ key: 'a', json: JSON.stringify(rule) }]
    form.plain.soft_404 = 'answer'
    assert.deepEqual(problemsOf(form), {})
    const sent = allSettings(form)
    assert.deepEqual(domainSettingsPatchSchema.parse(sent), sent)
    assert.deepEqual(sent.query, ['page', 'color'])
    assert.deepEqual(sent.rules, [rule])
    assert.equal(sent.soft_404, 'answer')
  })

  it('sends only the settings of its page, and is checked by them only', () => {
    const form = formOf(domainWith({ terms_url: 'https://shop.example.com/terms' }))
    const names = (page: SettingsPage) => Object.keys(settingsOf(form, page)).sort()
    assert.deepEqual(names('site'), ['https_redirect', 'way'])
    assert.deepEqual(names('paths'), ['query', 'rules'])
    assert.deepEqual(names('crawlers'), ['categories', 'crawlers', 'preferences', 'terms_url'])
    assert.deepEqual(names('sitemap'), ['indexnow', 'sitemap'])
    assert.deepEqual(names('robots'), [], 'it has a form of its own')
    form.rules = [{ key: 'a', json: '{"path":"b","action":"pass"}' }]
    assert.deepEqual(
      settingsProblems(form, 'freshness', () => null),
      {},
    )
    assert.deepEqual(Object.keys(settingsProblems(form, 'paths', () => null)), ['rules.0.path'])
  })

  it('names each field that is wrong', () => {
    const found = problemsOf({
      ...plainWith({ fresh_seconds: '', stale_seconds: -1 }),
      query: 'list',
      queryNames: ' ',
      rules: ['{}', '{', '[]'].map((json) => ({ key: json, json })),
      crawlers: { added: [{ key: 'a', pattern: 'x*', category: 'ai' }], removed: 'abc\nx' },
      visitor: { userAgent: 'ü', width: 200, height: '', locale: '-', timeZone: 'Mars' },
    })
    assert.deepEqual(Object.keys(found).sort(), [
      'crawlers.added.0.pattern',
      'crawlers.removed',
      'plain.fresh_seconds',
      'plain.stale_seconds',
      'queryNames',
      'rules.1.json',
      'rules.2.json',
      'visitor.height',
      'visitor.locale',
      'visitor.timeZone',
      'visitor.userAgent',
    ])
  })

  it('names the entry of a list that is wrong', () => {
    const crawlers = { added: [], removed: 'abc\nx' }
    assert.deepEqual(problemsOf({ crawlers }), {
      'crawlers.removed': 'x: must have 3 characters other than *',
    })
    const long = 'p'.repeat(201)
    assert.deepEqual(problemsOf({ query: 'list', queryNames: `page ${long}` }), {
      queryNames: `${long}: must have at most 200 characters`,
    })
  })

  it('takes the sides of a viewport at their limits, and no other', () => {
    const problems = (width: number, height: number) =>
      Object.keys(problemsOf({ visitor: { ...formOf(domainWith({})).visitor, width, height } }))
    assert.deepEqual(problems(200, 4_000), [])
    assert.deepEqual(problems(199, 4_001), ['visitor.width', 'visitor.height'])
  })

  it('takes at most as many rules and crawlers as the server', () => {
    const rules = (size: number) =>
      Array.from({ length: size }, (_, at) => ({ key: `${at}`, json: '{"path":"/a","action":"pass"}' }))
    const removed = (size: number) => Array.from({ length: size }, (_, at) => `crawler ${at}`).join('\n')
    assert.deepEqual(problemsOf({ rules: rules(MAX_RULES) }), {})
    assert.deepEqual(problemsOf({ crawlers: { added: [], removed: removed(MAX_PATTERNS) } }), {})
    assert.deepEqual(problemsOf({ crawlers: { added: [], removed: removed(MAX_PATTERNS + 1) } }), {
      'crawlers.removed': `must have at most ${MAX_PATTERNS} entries`,
    })
  })

  it('names the field of a rule that is wrong', () => {
    const rules = ['{"path":"/a","action":"pass"}', '{"path":"b","action":"pass"}'].map((json) => ({
      key: json,
      json,
    }))
    assert.deepEqual(problemsOf({ rules }), { 'rules.1.path': 'Path must start with /' })
  })

  it('asks for the path of a rule that has none', () => {
    for (const json of ['{"path":"","action":"pass"}', '{"action":"pass"}']) {
      assert.deepEqual(problemsOf({ rules: [{ key: 'a', json }] }), { 'rules.0.path': 'Enter a path' })
    }
  })

  it('names the entry of a list in a rule, and the field of a rule that does nothing', () => {
    const problemsOfRule = (rule: object) => problemsOf({ rules: [{ key: 'a', json: JSON.stringify(rule) }] })
    assert.deepEqual(Object.keys(problemsOfRule({ path: '/a' })), ['rules.0.action'])
    const [text] = Object.values(problemsOfRule({ path: '/a', render: { block: ['ads', 'No Host'] } }))
    assert.match(text!, /^Host No Host must be "ads"/)
    assert.deepEqual(problemsOfRule({ path: '/a', fresh_seconds: 'x' }), {
      'rules.0.fresh_seconds': 'Enter a time such as 10 min, 24 h or 7 days, from 0 s to 3,660 days',
    })
    assert.deepEqual(Object.keys(problemsOfRule({ path: '/a', change: { head: { meta: [{}] } } })), [
      'rules.0.json',
    ])
  })

  it('allows at most ten years, like the server', () => {
    assert.deepEqual(problemsOf(plainWith({ keep_seconds: '3660 days' })), {})
    assert.deepEqual(problemsOf(plainWith({ keep_seconds: '3661 days' })), {
      'plain.keep_seconds': 'Enter a time such as 10 min, 24 h or 7 days, from 0 s to 3,660 days',
    })
  })
})

it('a field of a rule edits its JSON: it sets its own value, and leaves out what is emptied', () => {
  for (const [before, place, value, after] of [
    [{ path: '/', render: {} }, 'render.wait_for', '#a', { render: { wait_for: '#a' } }],
    [{ path: '/' }, 'change.head.title', 'New', { change: { head: { title: 'New' } } }],
    [{ path: '/', change: { head: { title: 'New' } } }, 'change.head.title', '', {}],
    [{ path: '/', render: { block: ['ads'] } }, 'render.block', [], {}],
    [{ path: '/', when: null }, 'when.variant', 'mobile', { when: { variant: 'mobile' } }],
  ] as const) {
    const json = withField(JSON.stringify(before), place, value)
    assert.deepEqual(fieldsOf(json), { path: '/', ...after }, place)
  }
  for (const json of ['{', '[]', '1', 'null']) assert.equal(fieldsOf(json), null)
})

const body = z.object({ settings: domainSettingsPatchSchema })

it('an error of the server is shown at its field', () => {
  for (const [settings, field] of [
    [{ fresh_seconds: -1 }, 'plain.fresh_seconds'],
    [{ keep_seconds: 1e12 }, 'plain.keep_seconds'],
    [{ crawler_wait_seconds: 0 }, 'plain.crawler_wait_seconds'],
    [{ refresh_ahead_percent: 101 }, 'plain.refresh_ahead_percent'],
    [{ query: 'some' }, 'queryNames'],
    [{ soft_404: 'maybe' }, 'plain.soft_404'],
    [{ rules: ['/a', 'b'].map((path) => ({ path, action: 'pass' })) }, 'rules.1.path'],
    [{ crawlers: { add: [{ pattern: 'x', category: 'ai' }] } }, 'crawlers.added.0.pattern'],
    [{ crawlers: { remove: ['abc', 'x'] } }, 'crawlers.removed'],
    [{ render: { viewport: { width: 1, height: 500 } } }, 'visitor.width'],
    [{ render: { viewport: { width: 500, height: 1 } } }, 'visitor.height'],
    [{ render: { time_zone: 'Mars/Olympus' } }, 'visitor.timeZone'],
  ] as const) {
    const [problem = assert.fail('the server takes it')] = problemsOfSchema(body, { settings })
    const shown = shownOnPage(problem, formOf(domainWith({})))
    assert.equal(shown?.field, field)
    assert(shown.text.length > 3)
  }
})

it('an error of the server about a selector is shown at its field, in its words', () => {
  const form = formOf(domainWith({}))
  const path = ['settings', 'rules', 0, 'render', 'wait_for']
  assert.deepEqual(shownOnPage({ path, message: 'is not a CSS selector: unclosed bracket' }, form), {
    page: 'paths',
    field: 'rules.0.render.wait_for',
    text: 'Selector cannot be read: unclosed bracket',
  })
  form.rules = [{ key: 'a', json: '{"path":"/a","change":{"remove":["#a","b["]}}' }]
  const second = ['settings', 'rules', 0, 'change', 'remove', 1]
  assert.partialDeepStrictEqual(shownOnPage({ path: second, message: 'is not a CSS selector' }, form), {
    field: 'rules.0.change.remove',
    text: 'Selector b[ cannot be read',
  })
})

it('an error of the server about the origin or the terms is shown at its field', () => {
  const form = formOf(domainWith({}))
  assert.deepEqual(shownOnPage({ path: ['origin_url'], message: 'must name a host' }, form), {
    page: 'site',
    field: 'origin',
    text: 'must name a host',
  })
  const terms = { path: ['settings', 'terms_url'], message: 'is required for "payment"' }
  assert.deepEqual(shownOnPage(terms, form), {
    page: 'crawlers',
    field: 'policy.terms',
    text: 'The address is required for "payment"',
  })
})

it('an error of the server about what no page shows is shown at no field', () => {
  const form = formOf(domainWith({}))
  for (const path of [[], ['settings'], ['settings', 'unknown'], ['settings', 'rules'], ['is_active']]) {
    assert.equal(shownOnPage({ path, message: 'is not valid' }, form), null)
  }
})

it('an error that has no field is told by labels, never by a path', () => {
  const inWords = (path: (string | number)[]) => problemInWords({ path, message: 'is wrong' })
  assert.equal(
    inWords(['settings', 'rules', 3, 'render', 'wait_for']),
    'Rule 4, Wait for the element: is wrong',
  )
  assert.equal(inWords(['rules', 0, 'change', 'head', 'meta']), 'Rule 1, change.head.meta: is wrong')
  assert.equal(inWords(['settings', 'terms_url']), 'Address of your terms: is wrong')
})

it('a rule has five groups, and each counts its values', () => {
  assert.deepEqual(
    RULE_GROUPS.map(({ title }) => title),
    ['Applies to', 'Freshness', 'Rendering', 'Changes to the page', 'Headers'],
  )
  const rule = {
    path: '/a',
    when: { variant: 'mobile' as const },
    render: { wait_for: '#a', block: ['ads'], viewport: { width: 800, height: 600 } },
    change: { remove: [], headers: { 'X-A': 'b' } },
  }
  assert.deepEqual(
    RULE_GROUPS.map((group) => countValues(group, rule)),
    [1, 0, 4, 0, 1],
  )
})

it('a rule is told in one sentence, which is empty if the rule does nothing or has a value of another kind', () => {
  const sentence = (rule: Partial<Rule>, devices: 'one' | 'auto' = 'one') =>
    ruleSentence({ path: '/a*', ...rule }, devices)
  const rows: [Partial<Rule>, string][] = [
    [
      { fresh_seconds: 7_200, when: { categories: ['search', 'ai'], query: { lang: '*' } } },
      'of category search or ai that ask for /a* with lang get pages that are fresh for 2 h.',
    ],
    [
      {
        action: 'render',
        render: { wait_for: '#p', block: ['chat'], time_zone: 'UTC' },
        change: { remove: ['.x', '.y'], consent: true },
      },
      'that ask for /a* get rendered pages, also where the path looks like a file, get pages only once #p is there, ' +
        'get pages without chat, get pages rendered with the time zone UTC, do not get .x and .y and do not get consent banners.',
    ],
    [
      { action: 'gone', when: { variant: 'mobile', categories: ['search'] } },
      'for phones of category search that ask for /a* get 410, with the cached page if there is one. ' +
        'Phones get the desktop page on this domain, so this never applies.',
    ],
  ]
  for (const [rule, said] of rows) assert.equal(sentence(rule), `Crawlers ${said}`)
  assert.doesNotMatch(sentence({ action: 'gone', when: { variant: 'mobile' } }, 'auto'), /never applies/)
  for (const json of ['{}', '{"change":{"remove":".x"}}', '{"when":{"categories":"ai"},"action":"pass"}']) {
    assert.equal(sentence(JSON.parse(json)), '', json)
  }
})

it('ages of a rule are typed with their unit, and kept as typed where they cannot be read', () => {
  const { show, mean } = TYPED.duration
  for (const [text, seconds] of [
    ['2 h', 7_200],
    ['10 min', 600],
    ['7 days', 604_800],
  ] as const) {
    assert.equal(mean(text), seconds, text)
    assert.equal(show(seconds), text)
  }
  assert.equal(mean('soon'), 'soon')
  assert.equal(show('soon'), 'soon')
})

it('an empty field of a rule shows what the site has', () => {
  const site = formOf(domainWith({ fresh_seconds: 3_600, render: { locale: 'de-CH' } }))
  const fields = RULE_GROUPS.flatMap((group) => group.fields)
  const usual = (place: string) => fields.find((field) => field.place === place)?.usual?.(site)
  assert.deepEqual(
    ['fresh_seconds', 'stale_seconds', 'render.locale', 'render.time_zone', 'render.viewport.width'].map(
      usual,
    ),
    ['1 h', '7 days', 'de-CH', 'UTC', '1280'],
  )
})

it('a change of a setting is told by its label, with durations as its field shows them', () => {
  assert.equal(settingChange('stale_seconds', 86_400, 604_800), 'Then stale for: 24 h → 7 days')
  assert.equal(settingChange('markdown', 'on', 'off'), 'Markdown: on → off')
  assert.equal(
    settingChange('soft_404', 'refuse', 'answer'),
    'Pages with status 200 that look like “not found”: Let the site answer → Answer 404',
  )
  assert.equal(settingChange('rules', [], [{ path: '/a' }]), 'Path rules')
})
