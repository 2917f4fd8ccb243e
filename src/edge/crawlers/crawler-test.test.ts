import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CRAWLER_AGENTS, PEOPLE_AGENTS, TOOL_AGENTS } from '../../../test/support/user-agents.ts'
import { createCrawlerTest, ownCrawlers } from './crawler-test.ts'

const categoryOf = createCrawlerTest()
const chrome = PEOPLE_AGENTS[0]!

const AGENTS = Object.entries({ ...CRAWLER_AGENTS, people: PEOPLE_AGENTS, tools: TOOL_AGENTS })
for (const [name, agents] of AGENTS) {
  describe(name, () => {
    const category = name in CRAWLER_AGENTS ? name : null
    for (const agent of agents) it(agent, () => assert.equal(categoryOf(agent), category))
  })
}

// Proves decided "Crawler detection"
it('the table has 150 user agents, none of them twice', () => {
  const all = [...Object.values(CRAWLER_AGENTS).flat(), ...PEOPLE_AGENTS, ...TOOL_AGENTS]
  assert(all.length >= 150, `${all.length}`)
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
  const rows: [string, string | null][] = [
    ['MyShop/3.2.1', 'other'],
    ['myshop/3.2.1', 'other'],
    ['MyShop/9.0', null],
    ['Acme Link-Tester/2', 'social'],
    ['Tester of acme', null],
    [CRAWLER_AGENTS['ai-training'][0]!, 'search'],
    [CRAWLER_AGENTS.seo[0]!, null],
  ]
  for (const [agent, category] of rows) {
    it(`${agent.slice(0, 60)} -> ${category}`, () => {
      assert.equal(categoryOf(agent, own), category)
      assert.equal(categoryOf(agent, own), category, 'from memory')
    })
  }

  it('counts on that domain alone', () => {
    assert.equal(categoryOf('MyShop/3.2.1'), null)
    const others = ownCrawlers({ add: [{ pattern: 'xyz', category: 'ai' }] })
    assert.equal(categoryOf(CRAWLER_AGENTS.seo[0], others), 'seo')
    assert.equal(ownCrawlers({ add: [], remove: [] }), null)
  })

  it('is compared with the first 512 characters', () => {
    const padded = (length: number) => `${'x'.repeat(length)}MyShop/1`
    assert.equal(categoryOf(padded(505), own), 'other')
    assert.equal(categoryOf(padded(506), own), null)
  })
})

it('reads the first 512 characters and no further; none are of no crawler', () => {
  assert.deepEqual([categoryOf(''), categoryOf(undefined)], [null, null])
  const padded = (length: number) => `${chrome.padEnd(length, ' x')} Twitterbot/1.0`
  assert.equal(categoryOf(padded(512 - ' Twitterbot/1.0'.length)), 'social')
  assert.equal(categoryOf(padded(512)), null)
})
