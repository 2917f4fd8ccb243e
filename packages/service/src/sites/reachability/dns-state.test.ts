import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { after, describe, it } from 'node:test'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { type AddressGuard, createAddressGuard } from '@prepaint/outbound'
import type { Refusal } from '@prepaint/postgres/rates'
import { loadConfig } from '../../../../../bin/settings/config.ts'
import { until } from '../../../../../test/support/condition.ts'
import { serve } from '../../../../../test/support/loopback.ts'
import { openQueue } from '../../../../../test/support/queue.ts'
import { CHECK_RATE, CHECKS_A_MINUTE, CHECKS_AT_ONCE, Checks } from './checks.ts'
import { checkDns, type DnsOptions, type DnsState } from './dns-state.ts'
import { findAnswer, publishAnswer } from './published-answer.ts'
import { tryOrigin } from './try-origin.ts'

const { pool, ...queue } = await openQueue()
const name = 'd1.example' as DomainName
const one = await queue.accountOf(await queue.domain())
const two = await queue.accountOf(await queue.domain())

const allowed = (port: number, net = '127.0.0.1/32') =>
  createAddressGuard(loadConfig({ PREPAINT_ALLOW_PRIVATE_ORIGINS: `${net}:${port}` }).allowedPrivateOrigins)

const ours = await serve(async (req, res) => {
  const token = req.url!.slice('/.well-known/acme-challenge/'.length)
  const text = await findAnswer(pool, (req.headers.host ?? '').replace(/:\d+$/, ''), token)
  res.writeHead(text === null ? 404 : 200).end(text ?? '')
})
const other = await serve((_req, res) => res.end('I am somebody else'))
after(() => Promise.all([ours.close(), other.close()]))

function look(
  port: number,
  { guard = allowed(port), ...more }: DnsOptions & { guard?: AddressGuard } = {},
  account = one,
) {
  return checkDns(pool, guard, account, name, {
    records: async () => ({ addresses: ['93.184.216.34', '10.0.0.7'], aliases: ['edge.example.net'] }),
    lookup: async () => ['127.0.0.1'],
    ports: { http: port, https: port },
    timeoutMs: 2_000,
    ...more,
  })
}

// Proves decided "DNS state"
it('a name under which this fleet answers reaches us; of its addresses the public ones are told', async () => {
  const records = ['93.184.216.34', '10.0.0.7']
  const shown = { addresses: ['93.184.216.34'], aliases: ['edge.example.net'], records }
  assert.deepEqual(await look(ours.port), { state: 'reaches-us', ...shown })
  assert.deepEqual(await look(other.port), { state: 'elsewhere', ...shown })
})

it('a name of which one address leads to another server reaches us at none for sure; that address is told', async () => {
  const forgotten = http.createServer((_req, res) => res.end('an old server')).listen(ours.port, '127.0.0.2')
  await once(forgotten, 'listening')
  const guard = allowed(ours.port, '127.0.0.0/30')
  const both = { guard, lookup: async () => ['127.0.0.1', '127.0.0.2'] }
  assert.equal((await look(ours.port, both))?.state, 'elsewhere')
  forgotten.close()
  await once(forgotten, 'close')
  assert.equal((await look(ours.port, both))?.state, 'reaches-us', 'no server answers at the other')
})

it('a name without an address, and servers that give no answer', async () => {
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }))
  const nothing = (state: string) => ({ state, addresses: [], aliases: [], records: [] })
  assert.deepEqual(await look(ours.port, { records: failing('ENOTFOUND') }), nothing('no-record'))
  assert.deepEqual(await look(other.port, { records: failing('ETIMEOUT') }), nothing('not-checked'))
})

it('nothing is asked of an address that is not public', async () => {
  let asked = 0
  const trap = await serve((_req, res) => {
    asked++
    res.end()
  })
  const found = await look(trap.port, { guard: createAddressGuard([]) })
  assert.deepEqual([found?.state, asked], ['elsewhere', 0])
  assert.equal((await look(trap.port))?.state, 'elsewhere')
  assert(asked > 0)
  await trap.close()
})

it("another account's domain is none; its published answer is not replaced", async () => {
  const published = await publishAnswer(pool, one, name)
  assert.equal(await look(ours.port, {}, two), null)
  const token = published!.path.split('/').at(-1)!
  assert.equal(await findAnswer(pool, name, token), published!.answer)
  assert.equal(await findAnswer(pool, 'else.example.com', token), null)
  await pool.query(`update reachability_check set expires_at = clock_timestamp()`)
  assert.equal(await findAnswer(pool, name, token), null)
})

it('an origin: its status, or in words why there is none', async () => {
  const guard = allowed(other.port)
  const at = (port: number) => `http://127.0.0.1:${port}`
  assert.deepEqual(await tryOrigin(at(other.port), { guard }), { status: 200, problem: null })
  const silent = await serve(() => new Promise(() => {}))
  const late = await tryOrigin(at(silent.port), { guard: allowed(silent.port), timeoutMs: 50 })
  assert.deepEqual(late, { status: null, problem: 'does not respond in time' })
  await silent.close()
  const refused = await tryOrigin(at(ours.port), { guard })
  assert.deepEqual(refused, { status: null, problem: 'has an address that is not public' })
})

describe('checks of an account', () => {
  function world(
    state: DnsState['state'] = 'elsewhere',
    take: (account: AccountId) => Promise<Refusal | null> = async () => null,
  ) {
    const clock = { atMs: 0, nowMs: () => clock.atMs }
    const seen = { asked: 0, held: Promise.resolve() }
    const checks = new Checks(clock, take, {
      checkDns: async () => {
        seen.asked++
        await seen.held
        return { state, addresses: [], aliases: [], records: [] }
      },
      tryOrigin: async () => ({ status: 200, problem: null }),
    })
    return { clock, seen, checks }
  }

  const refused = { code: 'too_many_checks' }

  it('what was found is kept: for ten seconds, or a minute where the name leads here; those who ask at once share it', async () => {
    for (const [state, keptMs] of [
      ['elsewhere', 10_000],
      ['reaches-us', 60_000],
    ] as const) {
      const { clock, seen, checks } = world(state)
      await Promise.all([checks.dns(one, name), checks.dns(one, name)])
      clock.atMs = keptMs - 1
      assert.equal((await checks.dns(one, name))?.checked_at, '1970-01-01T00:00:00.000Z')
      assert.equal(seen.asked, 1)
      clock.atMs = keptMs
      await checks.dns(one, name)
      assert.equal(seen.asked, 2)
      await checks.dns(two, name)
      assert.equal(seen.asked, 3, 'nothing is shared between accounts')
    }
  })

  // Proves decided "DNS state"
  it('sixty checks a minute of an account, and not one more, at whatever node; others are not held up', async () => {
    const take = (account: AccountId) => CHECK_RATE.take(pool, `account ${account}`)
    const [here, there] = [world('elsewhere', take).checks, world('elsewhere', take).checks]
    for (let n = 0; n < CHECKS_A_MINUTE; n++)
      await (n % 2 === 0 ? here : there).origin(one, 'https://o.example')
    await assert.rejects(here.origin(one, 'https://o.example'), refused)
    await assert.rejects(there.count(one), refused)
    await there.origin(two, 'https://o.example')
    await pool.query(`update rate set moments[1] = now() - interval '61 seconds'`)
    await there.origin(one, 'https://o.example')
  })

  it('eight at once of an account, and not one more; another account checks meanwhile', async () => {
    const { seen, checks } = world()
    const { promise, resolve } = Promise.withResolvers<void>()
    seen.held = promise
    const held = Array.from({ length: CHECKS_AT_ONCE / 2 }, (_, n) =>
      checks.dns(one, `${n}.example` as DomainName),
    )
    await assert.rejects(checks.dns(one, name), refused)
    held.push(checks.dns(two, 'other.example' as DomainName))
    await until('all of them run', () => seen.asked === CHECKS_AT_ONCE / 2 + 1)
    resolve()
    await Promise.all(held)
    assert.equal((await checks.dns(two, name))?.state, 'elsewhere')
  })
})
