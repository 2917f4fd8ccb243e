/** Whom a site sees: the usual visitor, or the one that its owner asks for. */
import assert from 'node:assert/strict'
import { after, it } from 'node:test'

import type { DomainName, PagePath } from '../ids.ts'
import type { Visitor } from './outcome.ts'
import { scripted, startTestRenderer } from './test-renderer.ts'

const renderer = await startTestRenderer()
after(() => renderer.close())

renderer.routes.set('/who', (request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(
    scripted(`show(JSON.stringify({
      header: ${JSON.stringify(request.headers['user-agent'])},
      languages: ${JSON.stringify(request.headers['accept-language'])},
      hints: ${JSON.stringify(request.headers['sec-ch-ua'] ?? null)},
      userAgent: navigator.userAgent, language: navigator.language,
      size: [innerWidth, innerHeight], zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      hour: new Date(Date.UTC(2026, 0, 1, 12)).getHours(), number: (1234.5).toLocaleString() }))`),
  )
})

async function seen(visitor?: Visitor): Promise<Record<string, unknown>> {
  const { outcome } = await renderer.render({
    customDomain: 'shop.example' as DomainName,
    originUrl: renderer.originUrl,
    path: '/who' as PagePath,
    visitor,
    signal: new AbortController().signal,
  })
  assert(outcome.kind === 'rendered', JSON.stringify(outcome))
  return JSON.parse(/<li>(.*)<\/li>/.exec(outcome.html)?.[1] ?? '')
}

const SWISS: Visitor = {
  userAgent: 'Mozilla/5.0 (Shop) Own/1.0',
  viewport: { width: 412, height: 915 },
  locale: 'de-CH',
  timeZone: 'Europe/Zurich',
}

it('the usual one is the same everywhere', async () => {
  const { header, userAgent, language, languages, size, zone, hints } = await seen()
  assert.match(
    String(userAgent),
    /^Mozilla\/5\.0 \(X11; Linux x86_64\) .* Chrome\/\d+\S* Safari\/\S+ Prepaint\/1\.0$/,
  )
  assert.equal(header, userAgent)
  assert.deepEqual([language, languages, size, zone], ['en-US', 'en-US,en;q=0.9', [1280, 1024], 'UTC'])
  assert.match(String(hints), /Chromium/)
})

it('the one that the owner asks for, also after the page was replaced, and not for others', async () => {
  for (let render = 0; render < 30; render++) {
    const found = await seen(SWISS)
    assert.equal(found['header'], SWISS.userAgent)
    assert.equal(found['userAgent'], SWISS.userAgent)
    assert.equal(found['hints'], null)
    assert.deepEqual([found['language'], found['languages']], ['de-CH', 'de-CH,de;q=0.9'])
    assert.deepEqual([found['size'], found['zone'], found['hour']], [[412, 915], 'Europe/Zurich', 13])
    assert.match(String(found['number']), /^1['’]234\.5$/)
  }
  const usual = await seen()
  assert.deepEqual([usual['size'], usual['zone'], usual['language']], [[1280, 1024], 'UTC', 'en-US'])
})
