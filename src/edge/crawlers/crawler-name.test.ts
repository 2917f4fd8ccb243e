import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { CRAWLER_NAME_CHARS, crawlerNameIn } from './crawler-name.ts'

describe('the name of a crawler that no list has', () => {
  const cases: [userAgent: string, name: string][] = [
    ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Googlebot'],
    ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 'facebookexternalhit'],
    ['WhatsApp/2.23.20.0', 'WhatsApp'],
    ['Pinterest/0.2 (+https://www.pinterest.com/bot.html)', 'Pinterest'],
    ['Mozilla/5.0 (compatible; SomethingNewBot/7.3; +https://new.example)', 'SomethingNewBot'],
    ['quiet-agent/3 (+https://quiet.example)', 'quiet-agent'],
    ['', 'unnamed'],
    ['\u0000\u0007', 'unnamed'],
  ]
  for (const [userAgent, name] of cases) {
    it(`${JSON.stringify(userAgent)}: ${name}`, () => assert.equal(crawlerNameIn(userAgent), name))
  }

  it('is bounded, whatever a user agent holds', () => {
    assert.equal(crawlerNameIn(`${'x'.repeat(CRAWLER_NAME_CHARS + 1)}bot/1`).length, CRAWLER_NAME_CHARS)
    assert.match(crawlerNameIn('é<script>bot'), /^[\x20-\x7e]+$/)
  })
})
