import assert from 'node:assert/strict'
import { it } from 'node:test'

import { KNOWN_CRAWLERS } from '../../edge/crawlers/known-crawlers.ts'
import { CRAWLER_NAMES, crawlerNumber, OTHER_CRAWLER } from './crawler-numbers.ts'

const named = (userAgent: string | undefined) => CRAWLER_NAMES[crawlerNumber(userAgent)]

it('crawlers of the kept list have their names, in any case, and again when they come again', () => {
  const googlebot = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)'
  const gptbot = 'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2)'
  for (let times = 0; times < 2; times++) {
    assert.equal(named(googlebot), 'Googlebot')
    assert.equal(named(googlebot.toUpperCase()), 'Googlebot')
    assert.equal(named(gptbot), 'GPTBot')
    assert.equal(named('WhatsApp/2.23'), 'WhatsApp')
    assert.equal(named('TelegramBot (like TwitterBot)'), 'TelegramBot')
  }
})

it('whoever invents a name is `other`, and so is nobody', () => {
  for (const userAgent of ['MyOwnBot/1.0', 'x'.repeat(600), `${'x'.repeat(512)}googlebot`, '', undefined]) {
    assert.equal(crawlerNumber(userAgent), OTHER_CRAWLER)
  }
  for (let at = 0; at < 12_000; at++) assert.equal(crawlerNumber(`invented-${at}`), OTHER_CRAWLER)
})

it('every entry of the list has a name of its own', () => {
  assert.equal(CRAWLER_NAMES.length, KNOWN_CRAWLERS.length + 1)
  assert.equal(new Set(CRAWLER_NAMES).size, CRAWLER_NAMES.length)
  assert(CRAWLER_NAMES.length < 256, 'numbers of names are packed into eight bits')
})
