import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import {
  startTestApi,
  type TestAccount,
  type TestApi,
  testIntegrations,
  testVault,
} from '../../../test/support/api.ts'
import { createKey, createToken } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createClientReader } from '../../http/client-address.ts'
import type { DomainName } from '../../ids.ts'
import { createApiServer } from '../server.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

it('the log tells what went wrong, on which route, and no key, token, query or body', async () => {
  const { token } = await createToken(
    api.pool,
    owner.id,
    'shop.example.com' as DomainName,
    't',
    DEFAULT_PLANS,
  )
  const now = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
  const { key } = await createKey(api.pool, owner.id, { name: 'k', expiresAt: null }, now)

  let written = ''
  const write = (line: string) => {
    written += line
  }
  const log = pino({ level: 'trace' }, { write })
  const serve = (pool: pg.Pool) =>
    createApiServer({
      pool,
      plans: DEFAULT_PLANS,
      clock: api.clock,
      log,
      checkEndpoint: async () => ({ ok: true }),
      checkOrigin: async () => ({ ok: false, reason: 'no' }),
      checkReadiness: async () => api.readiness.found,
      integrations: testIntegrations,
      vault: testVault(pool),
      readClient: createClientReader([]),
      caughtUp: async () => {},
      version: '0',
      publicUrl: null,
      contact: null,
    })
  const away = new pg.Pool({ host: '/nowhere', user: 'u', password: 'database-password' })
  for (const pool of [api.pool, away]) {
    const app = await serve(pool)
    const headers = { 'x-api-key': key, authorization: `Bearer ${token}`, cookie: 'session=cookie-secret' }
    for (const [method, url] of [
      ['GET', `/api/domains?api_key=${key}`],
      ['POST', `/api/webhook/refresh?token=${token}`],
      ['GET', `/api/jobs/${key}`],
      ['POST', '/api/domains'],
      ['GET', `/nothing/${key}`],
    ] as const) {
      const payload =
        method === 'POST' ? `{"origin_url": "https://user:body-secret@x.example.com", "x": "${key}"` : ''
      await app.inject({ method, url, headers: { ...headers, 'content-type': 'application/json' }, payload })
    }
    await app.close()
  }
  await away.end()

  assert.match(written, /"route":"\/api\/domains"/)
  assert.match(written, /"route":"\/api\/webhook\/refresh".*ENOENT/)
  for (const secret of [key, token, 'cookie-secret', 'body-secret', 'database-password']) {
    assert(!written.includes(secret), `${secret} stands in the log`)
  }
})
