import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import { testCommands } from '../../test/support/commands.ts'
import { emptyTables, openTestDatabase } from '../../test/support/database.ts'
import { startNameServer, type Zone } from '../../test/support/name-server.ts'

const database = await openTestDatabase()
const zone: Zone = {}
const dns = await startNameServer({ after }, zone)
const settings = {
  DATABASE_URL: database.url,
  PREPAINT_DNS_SERVERS: dns.server,
  PREPAINT_EDGE_TARGET: '192.0.2.1',
  PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
}
const { good, printed, refused, wrong } = testCommands(settings)
const AT = '--domain shop.example.com'
const ADD = `domain add ${AT} --origin http://127.0.0.1:1`
const MOVE = `domain move ${AT} --origin http://127.0.0.1:2`

type Claim = { account: { email: string }; proof: DomainProof }
type Shown = { account: { email: string }; proof: DomainProof; claims: Claim[] }

const shown = async (more = '') => (await good(`domain proof ${AT}${more}`)) as Shown

/** The TXT record of an account, as it would publish it. */
function publish(account: string, all: Shown): void {
  const every = [all, ...all.claims]
  const { records } = every.find((each) => each.account.email === account)!.proof
  zone[`TXT ${records.dns.name}`] = [records.dns.value]
}

beforeEach(async () => {
  for (const name of Object.keys(zone)) delete zone[name]
  zone['shop.example.com'] = ['192.0.2.1']
  await emptyTables(database.pool, 'account, domain_former, task, audit_entry cascade')
  for (const name of ['red', 'blue'])
    await good(`account create --email ${name}@example.com --plan enterprise`)
})

describe('domain proof', () => {
  it('shows the proof of the account that has the name, and those that could prove it', async () => {
    await good(`${ADD} --email red@example.com`)
    await good(`domain remove ${AT}`)
    const text = await printed(`${ADD} --email blue@example.com`)
    assert.match(text, /It is served once its account has proven the name: "prepaint domain proof/)
    const before = await shown()
    assert.deepEqual(
      [
        before.account.email,
        before.proof.state,
        before.proof.served,
        before.claims.map(({ account }) => account.email),
      ],
      ['blue@example.com', 'asked', false, ['red@example.com']],
    )
    assert.equal(before.claims[0]!.proof.state, 'not-asked')
    publish('red@example.com', before)
    const { proof } = (await shown()).claims[0]!
    assert.deepEqual([proof.state, proof.method, proof.error], ['proven', 'dns', null])
    assert.match(
      await printed(`domain proof ${AT}`),
      /belongs to blue@example.com[\s\S]*asked[\s\S]*red@example.com[\s\S]*proven by dns/,
    )
  })

  it('shows what another account could publish, if it is named', async () => {
    await good(`${ADD} --email blue@example.com`)
    assert.deepEqual((await shown()).claims, [])
    const [claim] = (await shown(' --to-email red@example.com')).claims
    assert.match(claim!.proof.records.dns.value, /^prepaint-proof=[0-9a-f]{40}$/)
    await refused(`domain proof ${AT} --to-email nobody@example.com`, /^Account not found$/)
    await refused('domain proof --domain other.example.com', /^Domain not found$/)
  })
})

describe('domain prove', () => {
  it('serves a name whose proof is asked for, because the operator vouches for it', async () => {
    const required = { PREPAINT_DOMAIN_PROOF: 'required' }
    await good(`${ADD} --email red@example.com`, required)
    assert.equal((await shown()).proof.served, false)
    const { proof } = (await good(`domain prove ${AT}`)) as { proof: DomainProof }
    assert.deepEqual([proof.state, proof.served, proof.method], ['proven', true, 'operator'])
  })
})

describe('domain move', () => {
  it('gives a name to the account whose record is there, which is served at once', async () => {
    await good(`${ADD} --email red@example.com`)
    await good(`domain remove ${AT}`)
    await good(`${ADD} --email blue@example.com`)
    publish('red@example.com', await shown())
    const { domain, proof } = (await good(`${MOVE} --to-email red@example.com`)) as {
      domain: { origin_url: string }
      proof: DomainProof
    }
    assert.equal(domain.origin_url, 'http://127.0.0.1:2')
    assert.equal(proof.served, true)
    assert.equal((await shown()).account.email, 'red@example.com')
    const actions = await database.column<string>(
      `select e.actor_kind || ' ' || a.email from audit_entry e join account a on a.id = e.account_id where action = 'domain.moved' order by 1`,
    )
    assert.deepEqual(actions, ['command_line blue@example.com', 'command_line red@example.com'])
  })

  it('asks the account that gets a served name for its proof, where the name leads here', async () => {
    await good(`${ADD} --email blue@example.com`)
    const { proof } = (await good(`${MOVE} --to-email red@example.com`)) as { proof: DomainProof }
    assert.deepEqual([proof.state, proof.served], ['asked', false])
  })

  it('refuses a name that its account has proven by a record, and one that the account has already', async () => {
    await good(`${ADD} --email blue@example.com`, { PREPAINT_DOMAIN_PROOF: 'required' })
    await refused(`${MOVE} --to-email blue@example.com`, /^Domain already exists/)
    publish('blue@example.com', await shown())
    await database.pool.query(`update domain_proof set state = 'proven', method = 'dns', served = true`)
    await refused(
      `${MOVE} --to-email red@example.com`,
      /^The account of shop\.example\.com has proven it \(dns\)/,
    )
    assert.equal((await shown()).account.email, 'blue@example.com')
  })

  it('needs an account and an origin', async () => {
    await good(`${ADD} --email blue@example.com`)
    await wrong(MOVE, /^Missing --to-email E$/)
    await wrong(`domain move ${AT} --to-email red@example.com`, /origin/)
  })
})
