import assert from 'node:assert/strict'
import { it } from 'node:test'

import { curlFor } from './docs-page.ts'

it('an example asks the endpoint with the secret that it takes, and a body of the right shape', () => {
  const url = 'https://prepaint.example.com/api/domains/{domain}/tokens/{id}'
  assert.equal(
    curlFor('GET', url, 'ApiKey', undefined),
    'curl "https://prepaint.example.com/api/domains/shop.example.com/tokens/<id>" \\\n  -H "X-Api-Key: $API_KEY"',
  )
  const body = {
    type: 'object',
    required: ['domain', 'ids', 'kind'],
    properties: {
      domain: { type: 'string' },
      ids: { type: 'array', items: { type: 'integer' } },
      kind: { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
      other: { type: 'boolean' },
    },
  }
  assert.match(
    curlFor('POST', '$PREPAINT_URL/api/x', 'WebhookToken', body),
    /-X POST "\$PREPAINT_URL\/api\/x" \\\n {2}-H "Authorization: Bearer \$WEBHOOK_TOKEN" \\\n {2}-H "Content-Type: application\/json" \\\n {2}-d '\{"domain":"shop\.example\.com","ids":\[1\],"kind":"a"\}'$/,
  )
  assert.equal(curlFor('GET', '$PREPAINT_URL/healthz', '', undefined), 'curl "$PREPAINT_URL/healthz"')
  const nothingRequired = { properties: { path: {}, on: { type: 'boolean' }, third: {} } }
  assert.match(
    curlFor('PUT', '/x', 'Session', nothingRequired),
    /-b "\$COOKIE".*-d '\{"path":"\/about","on":true\}'$/s,
  )
})
