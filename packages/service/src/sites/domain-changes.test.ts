import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { type TestDatabase, testDatabase } from '../../../../test/support/database.ts'
import { createAccount } from '../accounts/accounts.ts'
import { createDomain, deleteDomain, updateDomain } from './domain-changes.ts'

const VIEW = { plans: DEFAULT_PLANS, nowMs: Date.parse('2026-11-15T12:30:00.000Z') }
const SHOP = 'shop.example' as DomainName
const OTHER = 'other.example' as DomainName

/** Triggers that nodes of 0.2.0 need while they run beside this version. */
const TRIGGERS = {
  account: ['account_has_channel'],
  domain: ['domain_expects_certificate', 'domain_is_followed', 'domain_inactive_resolves'],
}

let database: TestDatabase
let account: AccountId

async function openAccount(): Promise<void> {
  const input = { email: 'Owner@example.com', plan: 'agency_plus', password: null }
  account = (await createAccount(database.pool, DEFAULT_PLANS, input)).id
}

async function addDomain(name: DomainName): Promise<DomainId> {
  const input = { name, originUrl: 'https://origin.example.com' }
  await createDomain(database.pool, account, input, VIEW)
  const [id] = await database.column<DomainId>('select id from domain where custom_domain = $1', name)
  return id!
}

function setActive(name: DomainName, isActive: boolean): Promise<unknown> {
  return updateDomain(database.pool, account, name, { isActive }, VIEW)
}

async function openIncident(domain: DomainId): Promise<number> {
  const [id] = await database.column<number>(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     select account_id, id, 'origin_unreachable', now(), '', '{}' from domain where id = $1 returning id::integer`,
    domain,
  )
  await database.pool.query(
    `select record_incident($1, 'incident.opened', 'incident ' || $1::bigint || ' opened')`,
    [id],
  )
  return id!
}

const statesOfDeliveries = (domain: DomainId) =>
  database.column<string>('select state from delivery where domain_id = $1 order by id', domain)
const typesOfEvents = (domain: DomainId) =>
  database.column<string>('select type from event where domain_id = $1 order by created_at', domain)

const variants = [
  { name: 'with the triggers that nodes of 0.2.0 need', hasTriggers: true },
  { name: 'without the triggers that nodes of 0.2.0 need', hasTriggers: false },
]
for (const { name, hasTriggers } of variants) {
  describe(name, () => {
    beforeEach(async () => {
      database = await testDatabase()
      for (const [table, triggers] of Object.entries(TRIGGERS)) {
        for (const trigger of triggers) {
          if (!hasTriggers) await database.pool.query(`drop trigger ${trigger} on ${table}`)
        }
      }
      await openAccount()
    })
    afterEach(() => database.close())

    it('a new account is told of incidents at its own address, once', async () => {
      const channels = await database.column(
        'select to_jsonb(c) from channel c where account_id = $1',
        account,
      )
      assert.deepEqual(
        channels.map((channel) => {
          const { format, address, state } = channel as Record<string, unknown>
          return { format, address, state }
        }),
        [{ format: 'mail', address: 'owner@example.com', state: 'confirmed' }],
      )
    })

    it('a new domain is due for a certificate and looked at for incidents', async () => {
      const id = await addDomain(SHOP)
      const due = 'select count(*)::integer from certificate_order where domain_id = $1 and next_at <= now()'
      assert.deepEqual(await database.column(due, id), [1])
      assert.deepEqual(await database.column('select watch from health where domain_id = $1', id), [{}])
    })

    it('a domain that is switched off has its open incidents resolved as `inactive`, with one event each', async () => {
      const id = await addDomain(SHOP)
      const other = await addDomain(OTHER)
      const held = { origin_unreachable: { heldMs: 1, sinceMs: 2 }, cdn_error: { heldMs: 3, resolvedMs: 4 } }
      await database.pool.query('update health set watch = $2 where domain_id = $1', [id, held])
      await openIncident(id)
      await openIncident(other)

      await setActive(SHOP, false)

      assert.deepEqual(await database.column('select resolution from incident where domain_id = $1', id), [
        'inactive',
      ])
      assert.deepEqual(await typesOfEvents(id), ['incident.opened', 'incident.resolved'])
      const [watch] = await database.column<Record<string, Record<string, number>>>(
        'select watch from health where domain_id = $1',
        id,
      )
      assert.deepEqual(Object.keys(watch!['origin_unreachable']!), ['resolvedMs'])
      assert.deepEqual(watch!['cdn_error'], { resolvedMs: 4 })
      assert.deepEqual(await database.column('select state from incident where domain_id = $1', other), [
        'open',
      ])
    })

    it('a domain that stays off, or stays on, keeps its open incidents', async () => {
      const id = await addDomain(SHOP)
      await openIncident(id)
      await setActive(SHOP, true)
      assert.deepEqual(await typesOfEvents(id), ['incident.opened'])
      await setActive(SHOP, false)
      // A round that evaluated the domain before it was switched off may write one later.
      await openIncident(id)
      await setActive(SHOP, false)
      assert.deepEqual(await database.column('select state from incident order by id'), ['resolved', 'open'])
    })

    it('a deleted domain has its waiting deliveries cancelled, and no other domain has', async () => {
      const id = await addDomain(SHOP)
      const other = await addDomain(OTHER)
      await openIncident(id)
      await openIncident(other)
      await deleteDomain(database.pool, account, SHOP)
      assert.deepEqual(await statesOfDeliveries(id), ['cancelled'])
      assert.deepEqual(await statesOfDeliveries(other), ['waiting'])
    })
  })
}
