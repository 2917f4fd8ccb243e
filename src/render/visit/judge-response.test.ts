import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { judgeMainResponse } from './main-document.ts'

const site = { customDomain: 'red.example', originUrl: 'http://o.example' }
const HTML = [{ name: 'Content-Type', value: 'text/html' }]
const judge = (status: number) => judgeMainResponse('https://red.example/', status, HTML, site)

describe('a status that is about the moment and not about the page is nothing to keep', () => {
  for (const status of [408, 425, 429, 500, 503, 599]) {
    it(`${status}`, () => assert.deepEqual(judge(status), { kind: 'origin-error', status }))
  }
  for (const status of [200, 401, 403, 404, 410, 428, 430, 499]) {
    it(`not so ${status}`, () => assert.equal(judge(status), null))
  }
})

it('a redirect comes with what the origin says about keeping it', () => {
  const location = { name: 'Location', value: '/b' }
  const said = ['no-cache', 'no-store'].map((value) => ({ name: 'Cache-Control', value }))
  const redirect = { kind: 'redirect', status: 302, location: 'https://red.example/b' }
  const judged = (headers: { name: string; value: string }[]) =>
    judgeMainResponse('https://red.example/a', 302, headers, site)
  assert.deepEqual(judged([location]), redirect)
  assert.deepEqual(judged([location, ...said]), { ...redirect, cacheControl: 'no-cache, no-store' })
})
