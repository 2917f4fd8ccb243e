import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { type CrawlerCategory, createCrawlerTest } from './crawler.ts'

const categoryOf = createCrawlerTest()
const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'

const CRAWLERS: Record<CrawlerCategory, string[]> = {
  search: [
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)',
    'Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)',
    'Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)',
    'DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)',
    'Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)',
  ],
  ai: [
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)',
    'CCBot/2.0 (https://commoncrawl.org/faq/)',
  ],
  social: [
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'Twitterbot/1.0',
    'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'WhatsApp/2.23.20.0',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    'Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)',
    'TelegramBot (like TwitterBot)',
  ],
  seo: [
    'Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)',
    'Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)',
  ],
  other: ['Mozilla/5.0 (compatible; SomeNewThingBot/0.1; +https://example.com/bot)'],
}

for (const [category, agents] of Object.entries(CRAWLERS)) {
  describe(`category ${category}`, () => {
    for (const agent of agents) it(agent.slice(0, 90), () => assert.equal(categoryOf(agent), category))
  })
}

describe('people and tools are not crawlers', () => {
  const agents = [
    chrome,
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
    'Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 [FBAN/FBIOS;FBAV/440.0.0.0;FBBV/1]',
    'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0',
    'MyShop/3.2.1 CFNetwork/1494.0.7 Darwin/23.4.0',
    'MyShop/3.2.1',
    'curl/8.5.0',
    'Wget/1.21.4',
    'node',
    'undici',
    'python-requests/2.31.0',
    'Go-http-client/1.1',
    'axios/1.7.2',
    'PostmanRuntime/7.36.0',
    chrome.replace('Chrome/', 'HeadlessChrome/'),
    `${chrome} Chrome-Lighthouse`,
    'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
    'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
    '',
  ]
  for (const agent of agents) it(agent.slice(0, 90) || 'none', () => assert.equal(categoryOf(agent), null))

  it('no header at all', () => assert.equal(categoryOf(undefined), null))
})

it('gives the same answer the second time, from memory', () => {
  const agent = 'Twitterbot/1.0 second time'
  assert.deepEqual([categoryOf(agent), categoryOf(agent)], ['social', 'social'])
})

it('reads the first 512 characters and no further', () => {
  const padded = (length: number) => `${chrome.padEnd(length, ' x')} Twitterbot/1.0`
  assert.equal(categoryOf(padded(512 - ' Twitterbot/1.0'.length)), 'social')
  assert.equal(categoryOf(padded(512)), null)
})
