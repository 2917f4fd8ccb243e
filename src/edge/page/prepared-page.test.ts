import assert from 'node:assert/strict'
import { it } from 'node:test'

import { prepareServed } from './prepared-page.ts'

it('a page has changed when it last read otherwise, not when it was last rendered', () => {
  const page = {
    kind: 'page',
    status: 200,
    variant: 'desktop',
    headers: [],
    bodyBr: Buffer.alloc(0),
    htmlBytes: 0,
    etag: 'e',
  } as const
  const lastModified = (times: { renderedAtMs: number; changedAtMs?: number }) => {
    const served = prepareServed({ ...page, staleSinceMs: null, ...times })
    return served.kind === 'page' ? served.lastModifiedMs : null
  }
  assert.equal(lastModified({ renderedAtMs: 5_000_400, changedAtMs: 1_000_700 }), 1_000_000)
  assert.equal(lastModified({ renderedAtMs: 5_000_400 }), 5_000_000)
})
