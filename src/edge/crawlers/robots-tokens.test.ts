import assert from 'node:assert/strict'
import { it } from 'node:test'
import { judgePath, parseRobots } from '../../sitemaps/robots-rules.ts'
import { robotsTokens } from './robots-tokens.ts'

// developers.google.com/search/docs/crawling-indexing/robots/robots_txt, "Order of precedence for user agents".
const GROUPS = parseRobots(`user-agent: googlebot-news
disallow: /1

user-agent: *
disallow: /2

user-agent: googlebot
disallow: /3

user-agent: Google-Extended
disallow: /4`)

const rows: [crawler: string, group: number | null][] = [
  ['Googlebot-News', 1],
  ['Googlebot', 3],
  ['Googlebot-Image/1.0', 3],
  ['Storebot-Google', 2],
  ['Otherbot', 2],
  ['Otherbot/7 (+https://other.example/bot)', 2],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 3],
  [
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    2,
  ],
  ['Google-Extended', 4],
  ['Applebot', 3],
  ['Applebot-Extended', 2],
  ['AdsBot-Google', null],
]
for (const [crawler, group] of rows) {
  it(`${crawler} obeys group ${group}`, () => {
    const obeyed = [1, 2, 3, 4].filter((n) => !judgePath(GROUPS, robotsTokens(crawler), `/${n}`).allowed)
    assert.deepEqual(obeyed, group === null ? [] : [group])
  })
}
