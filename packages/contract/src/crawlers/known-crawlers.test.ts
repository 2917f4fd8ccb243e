import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { GOOGLEBOT } from '../../../../test/support/edge.ts'
import { CRAWLER_AGENTS } from '../../../../test/support/user-agents.ts'
import { judgeCrawler } from '../site-files/judge-crawler.ts'
import { parseRobots } from '../site-files/robots-rules.ts'
import {
  CRAWLER_NAME_CHARS,
  CRAWLER_OWNERS,
  claimedOwner,
  crawlerName,
  isPhoneAgent,
  KNOWN_CRAWLERS,
  knownCrawler,
} from './known-crawlers.ts'

it('the name of a crawler is that of the table, or a word of its user agent, and bounded', () => {
  const names: Record<string, string> = {
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)': 'Facebook',
    'Mozilla/5.0 (compatible; SomethingNewBot/7.3; +https://new.example)': 'SomethingNewBot',
    'Mozilla/5.0 (compatible; gptbot/1.2)': 'GPTBot',
    'TelegramBot (like TwitterBot)': 'TelegramBot',
    'Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)': 'Feedly',
    'quiet-agent/3 (+https://quiet.example)': 'quiet-agent',
    '\u0000\u0007': 'unnamed',
  }
  for (const [userAgent, name] of Object.entries(names)) assert.equal(crawlerName(userAgent), name, userAgent)
  assert.equal(crawlerName(`${'x'.repeat(CRAWLER_NAME_CHARS + 1)}bot/1`).length, CRAWLER_NAME_CHARS)
  assert.match(crawlerName('é<script>bot'), /^[\x20-\x7e]+$/)
})

it('every crawler of the table says who runs it and where it is documented, and is found by its examples', () => {
  for (const crawler of KNOWN_CRAWLERS) {
    const { name, operator, source, examples } = crawler
    assert(operator.length > 0, name)
    assert.match(source, /^(?!https?:)\S/, name)
    for (const example of examples) assert.equal(knownCrawler(example), crawler, example)
  }
  const withoutExample = KNOWN_CRAWLERS.filter(({ examples }) => examples.length === 0).map(
    ({ name }) => name,
  )
  assert(withoutExample.length <= 10, withoutExample.join())
})

it('every crawler of the table is found by its own pattern, and by none before it', () => {
  for (const { name, pattern } of KNOWN_CRAWLERS) {
    const agent = pattern.startsWith('^') ? pattern.slice(1) : `Mozilla/5.0 (compatible; ${pattern}/1.0)`
    assert.equal(crawlerName(agent), name)
  }
})

it('a user agent claims to be of an owner, not of those whom it only names', () => {
  const agents = Object.values(CRAWLER_AGENTS).flat()
  const owners: Record<string, string | null> = {
    'Googlebot/2.1': 'googlebot',
    'AdsBot-Google-Mobile': 'googlebot',
    'FeedFetcher-Google; (+': 'google-user-triggered',
    YandexMobileBot: 'yandex',
    'Yahoo! Slurp': 'yahoo',
    'ChatGPT-User': 'chatgpt-user',
    'like FeedFetcher-Google': null,
    'TelegramBot (like TwitterBot)': null,
    'Facebot Twitterbot/1.0': null,
    SomeNewThingBot: null,
  }
  for (const [holds, owner] of Object.entries(owners)) {
    const agent = agents.find((one) => one.includes(holds)) ?? `Mozilla/5.0 (compatible; ${holds}/3.0)`
    assert.equal(claimedOwner(agent), owner, holds)
  }
})

it('the crawlers that docs/edge.md names as examples of a category are of that category in the table', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../../docs/edge.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-z-]+)` \| [^:|]*: ([^|]+) \|$/gm)]
  const [table] = text.split('## Verified crawlers')
  const examples = rows.filter((row) => table!.includes(row[0]))
  const named = examples.flatMap(([, category, names]) => names!.split(', ').map((name) => [name, category]))
  assert(named.length >= 15, `${named.length} crawlers`)
  for (const [name, category] of named) assert.equal(knownCrawler(`${name}/1.0`)?.category, category, name)
})

it('a user agent is a phone if it contains Mobile or Android, in this spelling', () => {
  assert(isPhoneAgent('Mozilla/5.0 (Linux; Android 6.0.1) (compatible; Googlebot/2.1)'))
  assert(isPhoneAgent('Mozilla/5.0 (iPhone) Mobile/15E148 (compatible; bingbot/2.0)'))
  for (const agent of ['Googlebot/2.1', 'mobile', 'yandexmobilebot']) assert(!isPhoneAgent(agent), agent)
})

it('every owner is named in docs/edge.md, has a crawler in the table, and no domain that belongs to the public', () => {
  const text = readFileSync(path.resolve(import.meta.dirname, '../../../../docs/edge.md'), 'utf8')
  for (const [name, { hosts }] of Object.entries(CRAWLER_OWNERS)) {
    assert(text.includes(`\`${name}\``), name)
    for (const host of hosts) assert.match(host, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/)
  }
  const owners = new Set(KNOWN_CRAWLERS.flatMap(({ owner }) => owner ?? []))
  assert.deepEqual([...owners].sort(), Object.keys(CRAWLER_OWNERS).sort())
})

it('a crawler obeys its own group of robots.txt, that of its kind, or that for all', () => {
  // developers.google.com/search/docs/crawling-indexing/robots/robots_txt, "Order of precedence for user agents".
  const groups = ['googlebot-news', '*', 'googlebot', 'Google-Extended']
  const robots = parseRobots(
    groups.map((group, at) => `user-agent: ${group}\ndisallow: /${at + 1}\n`).join('\n'),
  )
  const obeyed: Record<string, number[]> = {
    'Googlebot-News': [1],
    'Googlebot-Image/1.0': [3],
    'Storebot-Google': [2],
    'Otherbot/7 (+https://other.example/bot)': [2],
    [GOOGLEBOT]: [3],
    'Google-Extended': [4],
    Applebot: [3],
    'Applebot-Extended': [2],
    'AdsBot-Google': [],
  }
  for (const [crawler, group] of Object.entries(obeyed)) {
    const forbidden = [1, 2, 3, 4].filter((n) => !judgeCrawler(robots, crawler, `/${n}`).allowed)
    assert.deepEqual(forbidden, group, crawler)
  }
})
