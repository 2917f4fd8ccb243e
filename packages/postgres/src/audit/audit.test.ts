import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { openTestDatabase } from '../../../../test/support/database.ts'
import { transaction } from '../transaction.ts'
import { type Acting, actAs, COMMAND_LINE_ACTING } from './acting.ts'
import {
  type AuditEntry,
  allEntries,
  changedFields,
  DAILY_LIMIT,
  fitDetails,
  listEntries,
  printEntries,
  record,
  removeOldEntries,
  setAuditDays,
} from './audit.ts'

const database = await openTestDatabase()
const { pool } = database

async function account(email: string): Promise<AccountId> {
  const sql = `insert into account (email, plan) values ($1, 'starter') returning id`
  return (await database.column<AccountId>(sql, email))[0]!
}

const added = (account: AccountId, domain = 'a.example') =>
  transaction(pool, (client) => record(client, { account, action: 'domain.added', domain }))

const age = (id: number, days: number) =>
  pool.query(
    `begin; set local session_replication_role = replica;
     update audit_entry set at = now() - interval '${days} days' where id = ${id}; commit`,
  )

const REFUSED = /Entries of the audit log cannot be changed or deleted/

// Proves decided "Audit log"
describe('the audit log', () => {
  it('names who acts, and the system where nobody does', async () => {
    const id = await account('acts@example.com')
    const acting: Acting = {
      actor: { kind: 'key', id: 7, name: 'deploy' },
      way: null,
      address: '192.0.2.1',
      userAgent: 'curl',
      requestId: 'r1',
    }
    await added(id)
    await actAs(acting, () => added(id))
    const [second, first] = await listEntries(pool, id, {}, { limit: 10 })
    assert.deepEqual(first?.actor, { kind: 'system', id: null, name: 'system' })
    const { actor, address, user_agent, request_id } = second!
    assert.deepEqual(
      { actor, address, user_agent, request_id },
      { actor: acting.actor, address: '192.0.2.1', user_agent: 'curl', request_id: 'r1' },
    )
  })

  it('an entry of a change that is rolled back is neither kept nor printed', async () => {
    const id = await account('back@example.com')
    const printed: AuditEntry[] = []
    printEntries((_, entry) => printed.push(entry))
    try {
      const failing = transaction(pool, async (client) => {
        await record(client, { account: id, action: 'domain.added', domain: 'gone.example' })
        assert.deepEqual(printed, [], 'nothing is printed before the commit')
        throw new Error('no')
      })
      await assert.rejects(failing, /no/)
      await added(id, 'kept.example')
    } finally {
      printEntries(null)
    }
    const kept = await listEntries(pool, id, {}, { limit: 10 })
    assert.deepEqual(
      kept.map(({ domain }) => domain),
      ['kept.example'],
    )
    assert.deepEqual(printed, kept)
  })

  it('refuses UPDATE, TRUNCATE and DELETE of an entry that is not old', async () => {
    const id = await account('kept@example.com')
    await setAuditDays(pool, 30)
    await added(id)
    for (const statement of [
      `update audit_entry set actor_name = 'another' where account_id = ${id}`,
      `delete from audit_entry where account_id = ${id}`,
      'truncate audit_entry',
      'truncate account cascade',
    ]) {
      await assert.rejects(pool.query(statement), REFUSED, statement)
    }
    const [entry] = await listEntries(pool, id, {}, { limit: 1 })
    await age(entry!.id, 29)
    assert.equal(await removeOldEntries(pool), 0)
    await age(entry!.id, 31)
    assert.equal(await removeOldEntries(pool), 1)
  })

  it('deletes nothing while no start has written the retention', async () => {
    const id = await account('unknown@example.com')
    await pool.query('delete from audit_retention')
    await added(id)
    const [entry] = await listEntries(pool, id, {}, { limit: 1 })
    await age(entry!.id, 4_000)
    assert.equal(await removeOldEntries(pool), 0)
    await assert.rejects(pool.query('delete from audit_entry where id = $1', [entry!.id]), REFUSED)
  })

  it('has one entry of what an actor repeats within a minute from one address', async () => {
    const id = await account('often@example.com')
    const by = (address: string): Acting => ({
      ...{
        actor: { kind: 'person', id: 1, name: 'often@example.com' },
        way: null,
        userAgent: null,
        requestId: null,
      },
      address,
    })
    const purged = (address: string, domain: string) =>
      transaction(pool, (client) =>
        record(client, { account: id, action: 'cache.purged', domain, acting: by(address) }),
      )
    await purged('192.0.2.1', 'a.example')
    await purged('192.0.2.1', 'a.example')
    await purged('192.0.2.2', 'a.example')
    await purged('192.0.2.1', 'b.example')
    const [last, ...others] = await listEntries(pool, id, {}, { limit: 10 })
    assert.deepEqual([last?.domain, others.length], ['b.example', 2])
    await age(last!.id, 1)
    await purged('192.0.2.1', 'b.example')
    await added(id)
    await added(id)
    assert.equal((await listEntries(pool, id, {}, { limit: 10 })).length, 6)
  })

  it('has a share of a day for each action and domain; beyond it entries say how many before them are missing', async () => {
    const id = await account('many@example.com')
    const change = (domain: string, acting?: Acting) =>
      transaction(pool, (client) =>
        record(client, { account: id, action: 'domain.changed', domain, ...(acting && { acting }) }),
      )
    for (let entry = 0; entry < DAILY_LIMIT + 5; entry++) await change('a.example')
    await change('b.example')
    const [last, ...others] = await listEntries(pool, id, {}, { limit: 2 * DAILY_LIMIT })
    assert.deepEqual([last?.domain, last?.details], ['b.example', {}])
    assert.deepEqual(
      others.slice(0, 3).map(({ details }) => details),
      [{ left_out: 1 }, { left_out: 1 }, {}],
    )
    assert.equal(others.length, DAILY_LIMIT + 2)
    await change('a.example', COMMAND_LINE_ACTING)
    assert.equal((await listEntries(pool, id, {}, { limit: 1 }))[0]?.actor.kind, 'command_line')
  })

  it('goes with its account', async () => {
    const id = await account('deleted@example.com')
    await added(id)
    await pool.query('delete from account where id = $1', [id])
    assert.deepEqual(await listEntries(pool, id, {}, { limit: 1 }), [])
  })

  it('filters by time, action, group of actions, actor and domain, and never shows another account', async () => {
    const id = await account('filter@example.com')
    const other = await account('other@example.com')
    await added(other, 'a.example')
    await added(id, 'a.example')
    await added(id, 'b.example')
    await transaction(pool, (client) => record(client, { account: id, action: 'key.created', target: 'k' }))
    const shown = async (filter: Parameters<typeof listEntries>[2]) =>
      (await listEntries(pool, id, filter, { limit: 10 })).map(({ action, domain }) => `${action} ${domain}`)
    const all = ['key.created null', 'domain.added b.example', 'domain.added a.example']
    assert.deepEqual(await shown({}), all)
    assert.deepEqual(await shown({ action: 'domain.*' }), all.slice(1))
    assert.deepEqual(await shown({ action: 'domain.added', domain: 'a.example' }), all.slice(2))
    assert.deepEqual(await shown({ action: 'domain.adde' }), [])
    assert.deepEqual(await shown({ actor: 'system' }), all)
    assert.deepEqual(await shown({ actor: 'sys' }), [])
    const hour = 3_600_000
    assert.deepEqual(await shown({ from: new Date(Date.now() - hour), to: new Date(Date.now() + hour) }), all)
    assert.deepEqual(await shown({ to: new Date(Date.now() - hour) }), [])
    const exported: string[] = []
    for await (const entries of allEntries(pool, id, { domain: 'b.example' })) {
      exported.push(...entries.map(({ action }) => action))
    }
    assert.deepEqual(exported, ['domain.added'])
  })
})

describe('details', () => {
  it('are the fields that differ, with old and new value', () => {
    const before = { plan: 'starter', name: 'a', list: [1] }
    assert.deepEqual(changedFields(before, { plan: 'pro', list: [1], name: undefined, more: true }), {
      plan: { old: 'starter', new: 'pro' },
      more: { old: null, new: true },
    })
  })

  it('of more than 4 KiB lose their longest values first', () => {
    const fitted = fitDetails({ short: 'kept', long: 'x'.repeat(5_000), other: 'y'.repeat(1_000) })
    assert.deepEqual(fitted, { short: 'kept', long: '(too long)', other: 'y'.repeat(1_000) })
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`field-${at}`, 'value']))
    assert.deepEqual(fitDetails(many), { fields: 500 })
  })
})
