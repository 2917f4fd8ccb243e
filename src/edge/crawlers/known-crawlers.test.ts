import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { CRAWLER_AGENTS } from '../../../test/support/user-agents.ts'
import {
  CRAWLER_NAME_CHARS,
  CRAWLER_OWNERS,
  claimedOwner,
  crawlerName,
  KNOWN_CRAWLERS,
} from './known-crawlers.ts'

describe('the name of a crawler', () => {
  const cases: [userAgent: string, name: string][] = [
    ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Googlebot'],
    ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 'Facebook'],
    ['WhatsApp/2.23.20.0', 'WhatsApp'],
    ['Pinterest/0.2 (+https://www.pinterest.com/bot.html)', 'Pinterest'],
    ['Mozilla/5.0 (compatible; SomethingNewBot/7.3; +https://new.example)', 'SomethingNewBot'],
    ['Mozilla/5.0 (compatible; gptbot/1.2)', 'GPTBot'],
    ['Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)', 'Feedly'],
    ['quiet-agent/3 (+https://quiet.example)', 'quiet-agent'],
    ['', 'unnamed'],
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
    assert(agent !== undefined, text)
    return claimedOwner(agent)
  }
  const rows: [holds: string, owner: string | null][] = [
    ['Googlebot/2.1', 'googlebot'],
    ['AdsBot-Google-Mobile', 'googlebot'],
    ['Google-InspectionTool', 'googlebot'],
    ['FeedFetcher-Google; (+', 'google-user-triggered'],
    ['Google-Site-Verification', 'google-user-triggered'],
    ['bingbot/2.0', 'bingbot'],
    ['YandexMobileBot', 'yandex'],
    ['Baiduspider-render', 'baidu'],
    ['Applebot/0.1', 'applebot'],
    ['Pinterestbot', 'pinterest'],
    ['SeznamBot', 'seznam'],
    ['Yahoo! Slurp', 'yahoo'],
    ['PetalBot', 'petalbot'],
    ['Amazonbot', 'amazonbot'],
    ['CCBot', 'ccbot'],
    ['AhrefsSiteAudit', 'ahrefs'],
    ['GPTBot', 'gptbot'],
    ['OAI-SearchBot', 'oai-searchbot'],
    ['ChatGPT-User', 'chatgpt-user'],
    ['PerplexityBot', 'perplexitybot'],
    ['Perplexity-User', 'perplexity-user'],
    ['DuckDuckBot', 'duckduckbot'],
    ['DuckAssistBot', 'duckassistbot'],
    ['MistralAI-User', 'mistralai-user'],
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

it('crawlers that are not in the table claim an owner too, where only the owner has such names', () => {
  assert.equal(claimedOwner('Mozilla/5.0 (compatible; YandexAccessibilityBot/3.0)'), 'yandex')
})

it('no domain of an owner belongs to the public, and every owner has a crawler in the table', () => {
  for (const { hosts } of Object.values(CRAWLER_OWNERS))
    for (const host of hosts) assert.match(host, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/)
  const owners = new Set(KNOWN_CRAWLERS.flatMap(([, , , owner]) => owner ?? []))
  assert.deepEqual([...owners].sort(), Object.keys(CRAWLER_OWNERS).sort())
})
