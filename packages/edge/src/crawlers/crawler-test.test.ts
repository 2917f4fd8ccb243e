import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CRAWLER_AGENTS, PEOPLE_AGENTS, TOOL_AGENTS } from '../../../../test/support/user-agents.ts'
import { createCrawlerTest, ownCrawlers } from './crawler-test.ts'

const categoryOf = createCrawlerTest()

// Proves decided "Crawler detection"
it('user agents of crawlers, people and tools are told apart', () => {
  const none = { people: PEOPLE_AGENTS, tools: TOOL_AGENTS }
  for (const [name, agents] of Object.entries({ ...CRAWLER_AGENTS, ...none })) {
    const category = name in none ? null : name
    for (const agent of agents) assert.equal(categoryOf(agent), category, agent)
  }
  const all = [...Object.values(CRAWLER_AGENTS).flat(), ...PEOPLE_AGENTS, ...TOOL_AGENTS]
  assert.equal(new Set(all).size, all.length)
})

describe('what a domain says', () => {
  const own = ownCrawlers({
    add: [
      { pattern: 'MyShop/', category: 'other' },
      { pattern: 'acme*tester', category: 'social' },
      { pattern: 'GPTBot', category: 'search' },
    ],
    remove: ['ahrefs', 'MyShop/9'],
  })

  it('counts before everything else, in any case', () => {
    const rows: [string, string | null][] = [
      ['MyShop/3.2.1', 'other'],
      ['myshop/3.2.1', 'other'],
      ['MyShop/9.0', null],
      ['Acme Link-Tester/2', 'social'],
      ['Tester of acme', null],
      [CRAWLER_AGENTS['ai-training'][0]!, 'search'],
      [CRAWLER_AGENTS.seo[0]!, null],
    ]
    // The second time from memory.
    for (const [agent, category] of [...rows, ...rows]) assert.equal(categoryOf(agent, own), category, agent)
  })

  it('is compared with the first 512 characters', () => {
    const padded = (length: number) => `${'x'.repeat(length)}MyShop/1`
    assert.equal(categoryOf(padded(505), own), 'other')
    assert.equal(categoryOf(padded(506), own), null)
  })
})

it('reads the first 512 characters and no further; none are of no crawler', () => {
  assert.deepEqual([categoryOf(''), categoryOf(undefined)], [null, null])
  const padded = (length: number) => `${PEOPLE_AGENTS[0]!.padEnd(length, ' x')} Twitterbot/1.0`
  assert.equal(categoryOf(padded(512 - ' Twitterbot/1.0'.length)), 'social')
  assert.equal(categoryOf(padded(512)), null)
})
