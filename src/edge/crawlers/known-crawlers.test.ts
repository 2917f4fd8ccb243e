import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { GOOGLEBOT, GPTBOT } from '../../../test/support/edge.ts'
import { CRAWLER_AGENTS } from '../../../test/support/user-agents.ts'
import { judgeCrawler } from '../../site-files/judge-crawler.ts'
import { parseRobots } from '../../sitemaps/robots-rules.ts'
import {
  CRAWLER_NAME_CHARS,
  CRAWLER_OWNERS,
  claimedOwner,
  crawlerName,
  KNOWN_CRAWLERS,
} from './known-crawlers.ts'

describe('the name of a crawler', () => {
  const cases: [userAgent: string, name: string][] = [
    ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 'Facebook'],
    ['Mozilla/5.0 (compatible; SomethingNewBot/7.3; +https://new.example)', 'SomethingNewBot'],
    ['Mozilla/5.0 (compatible; gptbot/1.2)', 'GPTBot'],
    ['Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)', 'Feedly'],
    ['quiet-agent/3 (+https://quiet.example)', 'quiet-agent'],
    ['\u0000\u0007', 'unnamed'],
  ]
  for (const [userAgent, name] of cases) {
    it(`${JSON.stringify(userAgent)}: ${name}`, () => assert.equal(crawlerName(userAgent), name))
  }

  it('is bounded, whatever a user agent holds', () => {
    assert.equal(crawlerName(`${'x'.repeat(CRAWLER_NAME_CHARS + 1)}bot/1`).length, CRAWLER_NAME_CHARS)
    assert.match(crawlerName('é<script>bot'), /^[\x20-\x7e]+$/)
  })
})

describe('whose crawler a user agent claims to be', () => {
  const ownerOf = (text: string) => {
    const agent = Object.values(CRAWLER_AGENTS)
      .flat()
      .find((one) => one.includes(text))
    return claimedOwner(agent ?? `Mozilla/5.0 (compatible; ${text}/3.0)`)
  }
  const rows: [holds: string, owner: string | null][] = [
    ['Googlebot/2.1', 'googlebot'],
    ['AdsBot-Google-Mobile', 'googlebot'],
    ['FeedFetcher-Google; (+', 'google-user-triggered'],
    ['YandexMobileBot', 'yandex'],
    ['Yahoo! Slurp', 'yahoo'],
    ['ChatGPT-User', 'chatgpt-user'],
    // These name others, and are not of them.
    ['like FeedFetcher-Google', null],
    ['TelegramBot (like TwitterBot)', null],
    ['Facebot Twitterbot/1.0', null],
    ['SomeNewThingBot', null],
  ]
  for (const [holds, owner] of rows) it(`${holds}: ${owner}`, () => assert.equal(ownerOf(holds), owner))
})

it('docs/edge.md names every owner', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../docs/edge.md'), 'utf8')
  const missing = Object.keys(CRAWLER_OWNERS).filter((name) => !text.includes(`\`${name}\``))
  assert.deepEqual(missing, [])
})

it('no domain of an owner belongs to the public, and every owner has a crawler in the table', () => {
  for (const { hosts } of Object.values(CRAWLER_OWNERS))
    for (const host of hosts) assert.match(host, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/)
  const owners = new Set(KNOWN_CRAWLERS.flatMap(([, , , owner]) => owner ?? []))
  assert.deepEqual([...owners].sort(), Object.keys(CRAWLER_OWNERS).sort())
})

// developers.google.com/search/docs/crawling-indexing/robots/robots_txt, "Order of precedence for user agents".
const GROUPS = parseRobots(`user-agent: googlebot-news
disallow: /1

user-agent: *
disallow: /2

user-agent: googlebot
disallow: /3

user-agent: Google-Extended
disallow: /4`)

const obeyed: [crawler: string, group: number | null][] = [
  ['Googlebot-News', 1],
  ['Googlebot', 3],
  ['Googlebot-Image/1.0', 3],
  ['Storebot-Google', 2],
  ['Otherbot', 2],
  ['Otherbot/7 (+https://other.example/bot)', 2],
  [GOOGLEBOT, 3],
  [GPTBOT, 2],
  ['Google-Extended', 4],
  ['Applebot', 3],
  ['Applebot-Extended', 2],
  ['AdsBot-Google', null],
]
for (const [crawler, group] of obeyed) {
  it(`${crawler} obeys group ${group}`, () => {
    const groups = [1, 2, 3, 4].filter((n) => !judgeCrawler(GROUPS, crawler, `/${n}`).allowed)
    assert.deepEqual(groups, group === null ? [] : [group])
  })
}
