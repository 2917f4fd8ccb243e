import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { CdpSession } from '../browser/cdp.ts'
import { LeavingPage, redirectOfPage } from './page-redirect.ts'

const URL_OF_PAGE = 'https://shop.example/old'
const ELSEWHERE = 'https://shop.example/elsewhere'

/** Of a page whose document is gone before it is read. */
const gone = {
  send: async (method: string) => {
    if (method === 'Runtime.evaluate') throw new Error('Cannot find context with specified id')
  },
} as unknown as CdpSession

const redirectBy = (words: readonly string[]) => {
  const leaving = new LeavingPage()
  for (const word of words) leaving.hear(word)
  const site = { customDomain: 'shop.example', originUrl: 'https://origin.example.net' }
  return redirectOfPage(gone, { ownWorld: 1 }, ELSEWHERE, { url: URL_OF_PAGE, site, leaving })
}

it('a page that has left before it was read is redirected by the metas that it left with', async () => {
  const metas = [
    ['Prerender-Status-Code', '301'],
    ['prerender-header', 'Location: /other'],
  ]
  assert.deepEqual(await redirectBy(['wrote', `left ${JSON.stringify(metas)}`]), {
    kind: 'redirect',
    status: 301,
    location: 'https://shop.example/other',
  })
})

it('without metas, or with what a page makes of them, it is 302 to where it left for', async () => {
  for (const said of ['[]', '{}', 'null', 'nonsense', '[1,["a"]]', '[["prerender-status-code"]]']) {
    const expected = { kind: 'redirect', status: 302, location: ELSEWHERE }
    assert.deepEqual(await redirectBy([`left ${said}`]), expected, said)
  }
})
