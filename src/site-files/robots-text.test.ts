import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { shutOut } from './judge-crawler.ts'
import type { RobotsSite } from './robots-files.ts'
import { beginsGroup, servedRobots } from './robots-text.ts'

type Files = RobotsSite['files']
type Parts = Partial<Files> & { mode?: Files['robots']['mode']; text?: string; origin?: string }
const compose = ({ mode = 'append', text = '', origin = '', preferences = {}, sitemap = 'origin' }: Parts) =>
  servedRobots({ name: 'red.example', files: { robots: { mode }, preferences, sitemap } }, text, origin)
const SITEMAP = 'https://red.example/sitemap.xml'

describe('robots.txt in place of the origin’s', () => {
  const own = 'User-agent: GPTBot\nDisallow: /\n'
  const cases: Record<string, [parts: Parts, text: string]> = {
    replaced: [{ mode: 'replace', text: own, origin: 'User-agent: *' }, own],
    appended: [{ text: own, origin: 'User-agent: *\nAllow: /' }, `User-agent: *\nAllow: /\n\n${own}`],
    'appended without its byte order mark': [
      { text: `\ufeff${own}`, origin: 'User-agent: *' },
      `User-agent: *\n\n${own}`,
    ],
    'appended to nothing': [{ text: own, origin: ' \n' }, own],
    'a sitemap behind it': [{ text: own, sitemap: 'generate' }, `${own}\nSitemap: ${SITEMAP}\n`],
    'a sitemap that is named already': [
      { mode: 'replace', text: `Sitemap: ${SITEMAP}`, sitemap: 'generate' },
      `Sitemap: ${SITEMAP}`,
    ],
    'preferences in every group': [
      {
        mode: 'origin',
        text: own,
        origin:
          'User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: *\nContent-Signal: search=no\nAllow: /',
        preferences: { search: 'allow', ai_input: 'deny', ai_train: 'deny' },
      },
      [
        ...['User-agent: a', 'User-agent: b', 'Content-Signal: search=yes, ai-input=no, ai-train=no'],
        ...['Content-Usage: / search=y, train-ai=n', 'Disallow: /x', '', 'User-agent: *'],
        ...['Content-Usage: / search=y, train-ai=n', 'Content-Signal: search=no', 'Allow: /'],
      ].join('\n'),
    ],
    'preferences in a group of their own': [
      { mode: 'origin', preferences: { ai_train: 'deny' } },
      'User-agent: *\nContent-Signal: ai-train=no\nContent-Usage: / train-ai=n\nAllow: /\n',
    ],
    'a preference that Content-Usage has no word for': [
      { mode: 'replace', text: own, preferences: { ai_input: 'allow' } },
      'User-agent: GPTBot\nContent-Signal: ai-input=yes\nDisallow: /\n\nUser-agent: *\nContent-Signal: ai-input=yes\nAllow: /\n',
    ],
  }
  for (const [name, [parts, text]] of Object.entries(cases)) {
    it(name, () => assert.equal(compose(parts), text))
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
