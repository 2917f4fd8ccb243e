import assert from 'node:assert/strict'
import { it } from 'node:test'
import { shutOut } from './judge-crawler.ts'
import type { FilesOf } from './robots-text.ts'
import { beginsGroup, servedRobots } from './robots-text.ts'

type Files = FilesOf['files']
const OWN = 'User-agent: GPTBot\nDisallow: /\n'
const SITEMAP = 'https://red.example/sitemap.xml'

it('the owner’s text is in place of the origin’s, or behind it, with sitemap and preferences', () => {
  type Parts = Partial<Files> & { mode?: Files['robots']['mode']; text?: string; origin?: string }
  const cases: [parts: Parts, text: string][] = [
    [{ mode: 'replace', origin: 'User-agent: *' }, OWN],
    [{ origin: 'User-agent: *\nAllow: /' }, `User-agent: *\nAllow: /\n\n${OWN}`],
    [{ text: `\ufeff${OWN}`, origin: 'User-agent: *' }, `User-agent: *\n\n${OWN}`],
    [{ origin: ' \n' }, OWN],
    [{ sitemap: 'generate' }, `${OWN}\nSitemap: ${SITEMAP}\n`],
    [{ text: `Sitemap: ${SITEMAP}`, sitemap: 'generate' }, `Sitemap: ${SITEMAP}`],
    // Preferences in every group; a group keeps a line of its own.
    [
      {
        ...{ mode: 'origin', preferences: { search: 'allow', ai_input: 'deny', ai_train: 'deny' } },
        origin:
          'User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: *\nContent-Signal: search=no\nAllow: /',
      },
      [
        ...['User-agent: a', 'User-agent: b', 'Content-Signal: search=yes, ai-input=no, ai-train=no'],
        ...['Content-Usage: / search=y, train-ai=n', 'Disallow: /x', '', 'User-agent: *'],
        ...['Content-Usage: / search=y, train-ai=n', 'Content-Signal: search=no', 'Allow: /'],
      ].join('\n'),
    ],
    [
      { mode: 'origin', preferences: { ai_train: 'deny' } },
      'User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: / train-ai=n\nAllow: /\n',
    ],
    // Content-Usage has no word for it.
    [
      { mode: 'replace', preferences: { ai_input: 'allow' } },
      'User-agent: GPTBot\nContent-Signal: ai-input=yes\nDisallow: /\n\nUser-agent: *\nContent-Signal: ai-input=yes\nAllow: /\n',
    ],
  ]
  for (const [{ mode = 'append', text = OWN, origin = '', ...files }, served] of cases) {
    const site = { robots: { mode, text }, preferences: {}, sitemap: 'origin' as const, ...files }
    const found = servedRobots({ name: 'red.example', files: site }, origin)
    assert.equal(found, served, JSON.stringify({ origin, ...site }))
  }
})

it('what is appended begins a group or names a sitemap', () => {
  for (const text of ['', '# note\n\nuser-agent : a', 'Sitemap: /x', '\ufeffUser-agent: *']) {
    assert.equal(beginsGroup(text), true, text)
  }
  for (const text of ['Disallow: /', '# x\nAllow: /', 'words']) assert.equal(beginsGroup(text), false, text)
})

it('says which search engines a text shuts out', () => {
  const engines = ['Googlebot', 'Bingbot', 'DuckDuckBot', 'YandexBot', 'Baiduspider', 'Applebot']
  assert.deepEqual(shutOut('User-agent: Googlebot\nDisallow: /', engines), ['Googlebot', 'Applebot'])
  assert.deepEqual(shutOut('User-agent: *\nDisallow: /', engines), engines)
  assert.deepEqual(shutOut('User-agent: *\nDisallow: /\nAllow: /$', engines), [])
})
