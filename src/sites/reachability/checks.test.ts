import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../test/support/database.ts'
import { takeOfRate } from '../../db/account-rate.ts'
import { AppError } from '../../errors.ts'
import type { AccountId, DomainName } from '../../ids.ts'
import { CHECK_RATE, CHECKS_A_MINUTE, CHECKS_AT_ONCE, createChecks } from './checks.ts'
import type { DnsState } from './dns-state.ts'

const one = 1 as AccountId
const two = 2 as AccountId
const name = 'a.example' as DomainName

function world(
  state: DnsState['state'] = 'elsewhere',
  take: (account: AccountId) => Promise<number | null> = async () => null,
) {
  const clock = { atMs: 0, nowMs: () => clock.atMs }
  const seen = { asked: 0, held: Promise.resolve() }
  const checks = createChecks({
    clock,
    take,
    readDns: async () => {
      seen.asked++
      await seen.held
      return { state, addresses: [], aliases: [] }
    },
    tryOrigin: async () => {
      await seen.held
      return { status: 200, problem: null }
    },
  })
  return { clock, seen, checks }
}

const refused = (error: unknown) => error instanceof AppError && error.code === 'too_many_checks'

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
  const database = await testDatabase()
  try {
    await database.pool.query(
      `insert into account (email, plan) values ('a@example.com', 'pro'), ('b@example.com', 'pro')`,
    )
    const take = (account: AccountId) => takeOfRate(database.pool, account, CHECK_RATE)
    const [here, there] = [world('elsewhere', take).checks, world('elsewhere', take).checks]
    for (let n = 0; n < CHECKS_A_MINUTE; n++)
      await (n % 2 === 0 ? here : there).origin(one, 'https://o.example')
    await assert.rejects(here.origin(one, 'https://o.example'), refused)
    await assert.rejects(there.count(one), refused)
    await there.origin(two, 'https://o.example')
    await database.pool.query(`update account_rate set moments[1] = now() - interval '61 seconds'`)
    await there.origin(one, 'https://o.example')
  } finally {
    await database.close()
  }
})

it('sixteen at once of a node, and not one more', async () => {
  const { seen, checks } = world()
  const { promise, resolve } = Promise.withResolvers<void>()
  seen.held = promise
  const held = Array.from({ length: CHECKS_AT_ONCE }, (_, n) => checks.dns(one, `${n}.example` as DomainName))
  await assert.rejects(checks.dns(two, name), refused)
  resolve()
  await Promise.all(held)
  assert.equal((await checks.dns(two, name))?.state, 'elsewhere')
})
