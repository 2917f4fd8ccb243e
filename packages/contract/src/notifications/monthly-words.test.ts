import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { differenceWords, monthSummary } from './monthly-words.ts'

const shop = { domain: 'shop.example.com', visits: 1_234, before: 1_102, pages: 1_000, hits: 970 }
const blog = { domain: 'blog.example.com', visits: 0, before: 0, pages: 0, hits: 0 }

describe('the summary of a month', () => {
  it('names one site, compares it with the month before and says how much came from the cache', () => {
    assert.equal(
      monthSummary('2026-10', [shop], { isRunning: false }),
      'Crawlers visited shop.example.com 1,234 times in October 2026, 12 % more than the month before, and 97 % of the pages came from the cache.',
    )
  })

  it('counts several sites', () => {
    assert.equal(
      monthSummary('2026-10', [{ ...shop, before: 1_234 }, blog], { isRunning: false }),
      'Crawlers visited the 2 sites 1,234 times in October 2026, as many as the month before, and 97 % of the pages came from the cache.',
    )
  })

  it('does not compare the running month with a whole one', () => {
    assert.equal(
      monthSummary('2026-11', [{ ...shop, visits: 1, pages: 0, hits: 0 }], { isRunning: true }),
      'Crawlers visited shop.example.com once so far in November 2026.',
    )
  })

  it('says that no crawler came, and that there is no site', () => {
    assert.equal(
      monthSummary('2026-10', [blog], { isRunning: false }),
      'No crawler visited blog.example.com in October 2026.',
    )
    assert.equal(monthSummary('2026-10', [], { isRunning: false }), 'There is no site in this report.')
  })

  it('a difference is in whole percent, and none without a month before', () => {
    assert.equal(differenceWords(50, 100), '50 % less')
    assert.equal(differenceWords(1_001, 1_000), 'about as many')
    assert.equal(differenceWords(5, 0), null)
  })
})
