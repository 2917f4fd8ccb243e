import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { CRAWLER_AGENTS } from '../../../test/support/user-agents.ts'
import { CRAWLER_OWNERS, claimedOwner } from './crawler-owners.ts'

describe('whose crawler a user agent claims to be', () => {
  const ownerOf = (text: string) => {
    const agent = Object.values(CRAWLER_AGENTS)
      .flat()
      .find((one) => one.includes(text))
    assert(agent !== undefined, text)
    return claimedOwner(agent)?.name ?? null
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
  const missing = CRAWLER_OWNERS.filter(({ name }) => !text.includes(`\`${name}\``))
  assert.deepEqual(missing, [])
})

it('no owner is told by two names, and no domain belongs to the public', () => {
  assert.equal(new Set(CRAWLER_OWNERS.map(({ name }) => name)).size, CRAWLER_OWNERS.length)
  for (const { hosts } of CRAWLER_OWNERS)
    for (const host of hosts) assert.match(host, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/)
})
