/** Redirects between spellings of one page are followed, for a crawler they would lead nowhere. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId, DomainName, PagePath } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import type { QueryRule } from '../../store/path.ts'
import { renderSpelling, SPELLINGS_LIMIT } from './run-job.ts'

const SITE = 'https://shop.example'
const PAGE: RenderOutcome = { kind: 'rendered', status: 200, headers: [], html: '<p>a' }
const to = (location: string): RenderOutcome => ({ kind: 'redirect', status: 302, location })

/** `ends`: what comes of each render in turn, the last for all that follow. */
async function play(path: string, ends: RenderOutcome[], query: QueryRule = 'keep') {
  const asked: string[] = []
  const found = await renderSpelling(
    { customDomain: 'shop.example' as DomainName, page: pageId(1 as DomainId, path as PagePath), query },
    async (spelling) => {
      asked.push(spelling)
      return ends[Math.min(asked.length, ends.length) - 1]!
    },
  )
  return { asked, found }
}

describe('a redirect to another spelling of the page', () => {
  const FOLLOWED: [name: string, path: string, location: string, next: string, query?: QueryRule][] = [
    // Proves decided "Redirects to the page itself"
    ['parameters in the order that the site likes', '/a?x=1&y=2', `${SITE}/a?y=2&x=1`, '/a?y=2&x=1'],
    ['a click-tracking parameter', '/a', `${SITE}/a?utm_source=self`, '/a?utm_source=self'],
    ['a query that the domain ignores', '/a', `${SITE}/a?session=1`, '/a?session=1', 'ignore'],
    ['a parameter that names no page', '/a?id=1', `${SITE}/a?id=1&v=2`, '/a?id=1&v=2', ['id']],
    ['the other spelling of a letter', '/caf%C3%A9', `${SITE}/caf%c3%a9`, '/caf%c3%a9'],
    ['the other scheme', '/a', 'http://shop.example/a', '/a'],
    ['itself, once, as after a cookie', '/a', `${SITE}/a`, '/a'],
  ]
  for (const [name, path, location, next, query] of FOLLOWED) {
    it(name, async () => {
      const { asked, found } = await play(path, [to(location), PAGE], query)
      assert.deepEqual(asked, [path, next])
      assert.equal(found, PAGE)
    })
  }

  // Proves decided "Redirects to the page itself"
  it('round in circles: an end, and no redirect', async () => {
    const { asked, found } = await play('/a', [to(`${SITE}/a?utm_source=1`)])
    assert.equal(asked.length, SPELLINGS_LIMIT)
    assert.deepEqual(found, { kind: 'redirect-loop', location: `${SITE}/a?utm_source=1` })
  })

  it('just before that is a circle', async () => {
    const hops = Array.from({ length: SPELLINGS_LIMIT - 1 }, (_, at) => to(`${SITE}/a?utm_source=${at}`))
    assert.equal((await play('/a', [...hops, PAGE])).found, PAGE)
  })

  it('and from there to another page: that is the answer', async () => {
    const { found } = await play('/a', [to(`${SITE}/a?utm_source=1`), to(`${SITE}/b`)])
    assert.deepEqual(found, to(`${SITE}/b`))
  })
})

describe('a redirect to another page is the answer', () => {
  const GIVEN: [name: string, location: string, query?: QueryRule][] = [
    ['another path', `${SITE}/b`],
    ['a slash at its end', `${SITE}/a/`],
    ['a parameter that counts', `${SITE}/a?x=1`],
    ['another host', 'https://www.shop.example/a'],
    ['another port', 'https://shop.example:8443/a'],
    ['no address', 'mailto:a@shop.example'],
  ]
  for (const [name, location, query] of GIVEN) {
    it(name, async () => {
      const { asked, found } = await play('/a', [to(location), PAGE], query)
      assert.deepEqual([asked, found], [['/a'], to(location)])
    })
  }
})
