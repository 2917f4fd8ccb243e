import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { GOOGLEBOT, PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import type { Visit } from '../../store/last-visits.ts'

const GPTBOT = 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)'

describe('who asked last for a page', () => {
  const seen: Visit[] = []
  let edge: TestEdge
  before(async () => {
    edge = await startTestEdge({ parts: { lastVisits: { note: (visit) => void seen.push(visit) } } })
  })
  after(() => edge.close())

  // Proves decided "Last crawler of a page"
  it('is told of pages that crawlers were given, once a minute for each; never of people', async () => {
    const agents = [GOOGLEBOT, GOOGLEBOT, PERSON, GPTBOT, GPTBOT]
    for (const agent of agents) await edge.verdict('/visited', { agent })
    assert.deepEqual(
      seen.map(({ page, crawler, category }) => [page.path, crawler, category]),
      [
        ['/visited', 'Googlebot', 'search'],
        ['/visited', 'GPTBot', 'ai-training'],
      ],
    )
  })

  it('knows what the domain calls a crawler', async () => {
    seen.length = 0
    await edge.set(`settings = '{"crawlers": {"add": [{"pattern": "myshop", "category": "seo"}]}}'`)
    await edge.settled()
    await edge.verdict('/visited', { agent: 'MyShop/1.0 (internal)' })
    assert.deepEqual(
      seen.map(({ crawler, category }) => [crawler, category]),
      [['MyShop', 'seo']],
    )
  })
})
