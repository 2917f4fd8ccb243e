import assert from 'node:assert/strict'
import { it } from 'node:test'

import { startTestApi } from '../../../test/support/api.ts'

it('GET /metrics: a server without figures has none, and no key of a customer opens it', async () => {
  const api = await startTestApi()
  try {
    const owner = await api.account()
    for (const key of [undefined, owner.key]) {
      const answer = await api.get('/metrics', key)
      assert.deepEqual([answer.status, answer.body], [404, { error: 'Not found' }])
    }
    const paths = (await (await fetch(`${api.url}/openapi.json`)).json()) as { paths: object }
    assert.equal('/metrics' in paths.paths, false)
  } finally {
    await api.close()
  }
})
