import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainName } from '@prepaint/contract/ids.ts'
import { assertAnswer, openApi } from '../../../../../test/support/api.ts'
import { lookAtDueNames } from './dns-looks.ts'
import type { DnsState } from './dns-state.ts'

const api = await openApi()
const owner = await api.account()
const stranger = await api.account()

/** One round of the nodes. Returns the names that were looked at. */
async function round(found: Partial<DnsState> = {}): Promise<string[]> {
  const looked: DomainName[] = []
  await lookAtDueNames(api.pool, {
    checkDns: async (_account, name) => {
      looked.push(name)
      return {
        state: 'elsewhere',
        addresses: [],
        aliases: [],
        records: ['10.0.0.7', '2001:db8::1'],
        ...found,
      }
    },
  })
  return looked.toSorted()
}
const passed = (seconds: number) =>
  api.pool.query(
    `update dns_look set checked_at = checked_at - make_interval(secs => $1), watched_at = watched_at - make_interval(secs => $1)`,
    [seconds],
  )
const listed = async (key = owner.key) =>
  (await api.get('/api/dns', key)).body['domains'] as Record<string, unknown>[]

// Proves decided "DNS of all domains"
it('names are looked at once in ten minutes, and every 20 seconds while somebody waits for them', async () => {
  const { name } = await api.domain(owner, 'a.dns.example.com')
  assert.deepEqual(await listed(), [{ domain: name, state: 'not-checked', addresses: [], checked_at: null }])
  assert.deepEqual(await round(), [name])
  const [found] = await listed()
  assert.deepEqual(
    { ...found, checked_at: null },
    {
      ...{ domain: name, state: 'elsewhere', addresses: ['10.0.0.7', '2001:db8::1'], checked_at: null },
    },
  )
  await passed(10)
  assert.deepEqual(await round(), [])
  await passed(10)
  await listed()
  assert.deepEqual(await round({ state: 'reaches-us' }), [name])
  await passed(30)
  await listed()
  assert.deepEqual(await round(), [], 'it leads here: nobody waits')
  await passed(600)
  assert.deepEqual(await round(), [name])
  await passed(100)
  assert.deepEqual(await round(), [], 'nobody has looked for a minute')
})

it('forty names are checked by one request, which counts as one check', async () => {
  const names: string[] = []
  for (let at = 0; at < 40; at++) names.push((await api.domain(owner, `n${at}.dns.example.com`)).name)
  const check = (domains: string[]) => api.post('/api/dns/check', owner.key, { domains })
  for (let at = 0; at < 3; at++) {
    const answer = await check(names)
    assert.equal(answer.status, 200, answer.text)
    const domains = answer.body['domains'] as { state: string }[]
    assert.deepEqual(
      domains.map(({ state }) => state),
      names.map(() => 'elsewhere'),
    )
  }
  for (let at = 0; at < 57; at++) assert.equal((await check([names[0]!])).status, 200)
  assertAnswer(await check([names[0]!]), 429, 'Too many checks, try again in a minute')
  assert.equal((await api.get('/api/dns', owner.key)).status, 200)
})

it('404: a check that names a foreign domain asks nothing; 400: more than 50', async () => {
  const { name } = await api.domain(stranger, 'own.dns.example.com')
  const check = (domains: string[]) => api.post('/api/dns/check', stranger.key, { domains })
  assertAnswer(await check([name, 'a.dns.example.com']), 404, 'Domain not found')
  assert.equal((await listed(stranger.key))[0]!['checked_at'], null)
  assertAnswer(
    await check(Array.from({ length: 51 }, () => name)),
    400,
    'domains must have at most 50 entries',
  )
})

it('accounts take turns: names of one that wait longer do not keep those of another out of a round', async () => {
  const { id } = await api.domain(owner, 'many.dns.example.com')
  const { id: others, name } = await api.domain(stranger, 'few.dns.example.com')
  await api.pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select account_id, 'many' || n || '.dns.example.com', origin_url from domain, generate_series(1, 250) n where id = $1`,
    [id],
  )
  await api.pool.query(
    `insert into dns_look (domain_id, state, addresses, checked_at)
     select id, 'elsewhere', '{}', now() - case when id = $1 then interval '11 minutes' else interval '20 minutes' end from domain
     on conflict (domain_id) do update set checked_at = excluded.checked_at`,
    [others],
  )
  const looked = await round()
  assert.equal(looked.length, 200)
  assert(looked.includes(name))
})
