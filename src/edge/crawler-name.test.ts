import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { CRAWLER_NAME_CHARS, createCrawlerNames } from './crawler-name.ts'

describe('the name of a crawler', () => {
  const nameOf = createCrawlerNames()
  const cases: [userAgent: string, name: string][] = [
    ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'Googlebot'],
    ['Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://x)', 'GPTBot'],
    ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 'facebookexternalhit'],
    ['WhatsApp/2.23.20.0', 'WhatsApp'],
    ['TelegramBot (like TwitterBot)', 'TelegramBot'],
    ['Pinterest/0.2 (+https://www.pinterest.com/bot.html)', 'Pinterest'],
    ['Mozilla/5.0 (compatible; SomethingNewBot/7.3; +https://new.example)', 'SomethingNewBot'],
    ['quiet-agent/3 (+https://quiet.example)', 'quiet-agent'],
    ['', 'unnamed'],
    ['\u0000\u0007', 'unnamed'],
  ]
  for (const [userAgent, name] of cases) {
    it(`${JSON.stringify(userAgent)}: ${name}`, () => {
      assert.equal(nameOf(userAgent), name)
      assert.equal(nameOf(userAgent), name, 'and from memory')
    })
  }

  it('is bounded, whatever a user agent holds', () => {
    assert.equal(nameOf(`${'x'.repeat(CRAWLER_NAME_CHARS + 1)}bot/1`).length, CRAWLER_NAME_CHARS)
    assert.match(nameOf('é<script>bot'), /^[\x20-\x7e]+$/)
  })
})
