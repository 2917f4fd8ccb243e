import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { setPlan } from '@prepaint/service/accounts/accounts.ts'
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { createSiteToken, revokeSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { openApi, valuesOf } from '../../../../test/support/api.ts'
import { serve } from '../../../../test/support/loopback.ts'
import { createApiServer } from '../server.ts'
import type { FrontRefusals } from './middleware-form.ts'
import { RefusedOffers } from './refused-offers.ts'

type Noted = Parameters<FrontRefusals['noteRefusal']>[0]

const api = await openApi()
const noted: Noted[] = []
const refusedChecks: [token: string, reason: string][] = []
const evidence: FrontRefusals = {
  noteRefusal: (refusal) => void noted.push(refusal),
  refuseCheck: async (token, { reason }) => void refusedChecks.push([token, reason]),
}
const app = await createApiServer({ ...api.parts, evidence }, api.options)
await app.listen({ host: '127.0.0.1', port: 0 })
after(() => app.close())
const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/api/render`

const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const PAGE = 'https://shop.example.com/a?b=1'
const DEAD = 'invalid-x-prerender-token-provided'

beforeEach(() => {
  noted.length = 0
  refusedChecks.length = 0
})

async function offer(key: string, body: string = JSON.stringify({ url: PAGE })): Promise<unknown[]> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body })
  const { error } = (await answer.json()) as { error: string }
  return [answer.status, error]
}

async function deadKey(): Promise<string> {
  const nowMs = api.clock.nowMs()
  const made = { name: 'k', expiresAt: null }
  const { id, key } = await createKey(api.pool, owner.id, made, { plans: DEFAULT_PLANS, nowMs })
  await revokeKey(api.pool, owner.id, id, nowMs)
  return key
}

describe('a request of the offer form that is refused', () => {
  it('for a dead key or site token is noted for the domain in its body', async () => {
    const nowMs = api.clock.nowMs()
    const { token } = await createSiteToken(api.pool, owner.id, shop.name, { author: 'a', nowMs })
    await revokeSiteToken(api.pool, owner.id, shop.name, nowMs)
    for (const key of [await deadKey(), token]) {
      assert.deepEqual(await offer(key), [401, 'Invalid API key'])
      assert.deepEqual(noted.splice(0), [{ account: owner.id, name: shop.name, reason: DEAD }])
    }
  })

  it('for a plan without API keys, or a domain for which the key is not good, is noted with its reason', async () => {
    const account = await api.account()
    const { name } = await api.domain(account, 'plan.example.com')
    const body = JSON.stringify({ url: `https://${name}/` })
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'pro')
    assert.equal((await offer(account.key, body))[0], 403)
    assert.deepEqual(noted.splice(0), [{ account: account.id, name, reason: 'plan-without-api-access' }])
    assert.deepEqual(await offer(owner.key, body), [404, 'Domain not found'])
    assert.deepEqual(noted, [{ account: owner.id, name, reason: 'domain-not-registered' }])
  })

  it('for a domain beyond those of a limited key is not noted', async () => {
    const { name } = await api.domain(owner, 'beyond.example.com')
    const made = { name: 'limited', expiresAt: null, domains: [shop.name] }
    const how = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const { key } = await createKey(api.pool, owner.id, made, how)
    assert.equal((await offer(key, JSON.stringify({ url: `https://${name}/` })))[0], 404)
    const form = await fetch(new URL(`/https://${name}/`, url), { headers: { 'x-prerender-token': key } })
    assert.notEqual(form.status, 200)
    const idle = { ...made, rights: ['read'] as const }
    const { key: reading } = await createKey(api.pool, owner.id, idle, how)
    assert.equal((await offer(reading, JSON.stringify({ url: `https://${name}/` })))[0], 403)
    assert.deepEqual(noted, [])
    assert.equal((await offer(reading))[0], 403)
    assert.deepEqual(valuesOf(noted, 'name'), [shop.name])
    await offer(key, JSON.stringify({ url: `https://${name}/?prepaint_check=token` }))
    assert.equal(refusedChecks.length, 1, 'a check is told')
  })

  it('is told to the check that sent it', async () => {
    const key = await deadKey()
    await offer(key, JSON.stringify({ url: `${PAGE}&prepaint_check=token` }))
    assert.deepEqual(refusedChecks, [['token', DEAD]])
  })

  it('is refused alike, and not noted, if its body names no page or is longer than 32 KiB', async () => {
    const key = await deadKey()
    const bodyOf = (bytes: number) => {
      const start = JSON.stringify({ url: PAGE }).slice(0, -1)
      return `${start}${' '.repeat(bytes - start.length - 1)}}`
    }
    for (const body of ['', 'no JSON', '[]', 'null', '{"url":1}', '{"url":"/a"}', bodyOf(32_769)]) {
      assert.deepEqual(await offer(key, body), [401, 'Invalid API key'], body.slice(0, 40))
      assert.deepEqual(noted, [])
    }
    await offer(key, bodyOf(32_768))
    assert.equal(noted.length, 1)
  })

  it('for a key that never was one of ours is not noted', async () => {
    assert.deepEqual(await offer('pp_live_wrong'), [401, 'Invalid API key'])
    assert.deepEqual(noted, [])
  })
})

describe('what the log says of a refused request', () => {
  const warnings: unknown[] = []
  const log = Object.assign(silentLog(), { warn: (line: unknown) => void warnings.push(line) })

  it('whose client leaves before its body is complete: nothing', async () => {
    const offers = new RefusedOffers(evidence, log)
    const handled = Promise.withResolvers<void>()
    const { port, close } = await serve(
      (req) => void offers.note(req, owner.id, 'plan').then(handled.resolve),
    )
    const leaving = http.request({ port, method: 'POST', headers: { 'content-length': 100 } })
    leaving.on('error', () => {})
    leaving.write('{"url":')
    await once(leaving, 'socket').then(([socket]) => once(socket, 'connect'))
    setImmediate(() => leaving.destroy())
    await handled.promise
    assert.deepEqual([warnings, noted], [[], []])
    await close()
  })

  it('that cannot be noted: a warning', async () => {
    const failing = { ...evidence, refuseCheck: () => Promise.reject(new Error('a fault')) }
    const offers = new RefusedOffers(failing, log)
    const { url: place, close } = await serve(async (req, res) => {
      await offers.note(req, owner.id, 'plan')
      res.end()
    })
    const body = JSON.stringify({ url: `${PAGE}&prepaint_check=token` })
    await (await fetch(place, { method: 'POST', body })).text()
    assert.equal(warnings.length, 1)
    await close()
  })
})
