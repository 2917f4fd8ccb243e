import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { GOOGLEBOT, PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import type { DomainSettings } from '../../sites/domain-settings.ts'

const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

describe('who is a crawler on a domain, and what its kind gets', () => {
  let edge: TestEdge
  before(async () => {
    edge = await startTestEdge()
  })
  after(() => edge.close())
  beforeEach(async () => {
    await edge.purge({ kind: 'all' })
    await set({})
    await edge.verdict('/a')
  })

  async function set(settings: Partial<DomainSettings>): Promise<void> {
    await edge.set(`settings = '${JSON.stringify(settings)}'`)
    await edge.settled()
  }
  const verdict = (agent: string, options: object = {}) => edge.verdict('/a', { agent, ...options })

  // Proves decided "Crawler detection"
  it('an addition gets pages, here and nowhere else', async () => {
    assert.equal(await verdict('MyShop/1.0'), 'pass; not-a-crawler')
    await set({ crawlers: { add: [{ pattern: 'myshop', category: 'other' }] } })
    assert.equal(await verdict('MyShop/1.0'), 'hit')
    assert.equal(await verdict('MyShop/1.0', { host: 'blue.example' }), 'pass; not-a-crawler')
    assert.equal(await verdict(PERSON), 'pass; not-a-crawler')
  })

  it('a removal gets what people get', async () => {
    await set({ crawlers: { remove: ['GPTBot'] } })
    assert.equal(await verdict(GPTBOT), 'pass; not-a-crawler')
    assert.equal(await verdict(GOOGLEBOT), 'hit')
  })

  // Proves decided "Further verdicts"
  it('a category that passes gets the origin, and the others pages', async () => {
    await set({ categories: { ai: 'pass', search: 'render' } })
    const { body, headers } = await edge.ask('/a', { agent: GPTBOT })
    assert.match(body.toString(), /<div id="app">/)
    assert.equal(headers['x-prepaint'], 'pass; category')
    assert.equal(await verdict(GOOGLEBOT), 'hit')
    assert.equal(await verdict('Twitterbot/1.0'), 'hit')
  })

  it('an addition has the category that it is given', async () => {
    await set({ crawlers: { add: [{ pattern: 'GPTBot', category: 'search' }] }, categories: { ai: 'pass' } })
    assert.equal(await verdict(GPTBOT), 'hit')
  })

  // Proves decided "Further verdicts"
  it('a crawler that shows a password gets the origin, which is shown it', async () => {
    const headers = { authorization: 'Basic cmVkOnJlZA==' }
    assert.equal(await verdict(GOOGLEBOT, { headers }), 'pass; authorization')
    assert.equal(await edge.verdict('/new', { headers }), 'pass; authorization')
    assert.equal(await verdict(GOOGLEBOT), 'hit')
  })
})
