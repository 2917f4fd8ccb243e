import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { AuditEntryView } from '@prepaint/contract/api/audit.ts'
import { NOTE_LIMIT_CHARS } from '@prepaint/contract/notifications/kinds.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createKey } from '@prepaint/service/accounts/keys.ts'
import { evaluate } from '@prepaint/service/notifications/incidents/evaluator.ts'
import type { Incident } from '@prepaint/service/notifications/incidents/incidents.ts'
import { assertAnswer, openApi, valuesOf } from '../../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account('enterprise')
const shop = await api.domain(owner, 'shop.example.com')
const blog = await api.domain(owner, 'blog.example.com')
const stranger = await api.account()

async function opened(domain: number, kind: string): Promise<number> {
  const evidence = { count: 1, pages: [], changes: [], level: null, advice: '', url: '' }
  const [id] = await api.database.column<number>(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     select account_id, id, $2, now(), 'why', $3 from domain where id = $1 returning id::integer`,
    domain,
    kind,
    evidence,
  )
  return id!
}

const first = await opened(shop.id, 'blocked')
const second = await opened(blog.id, 'origin_unreachable')
const third = await opened(blog.id, 'renders_failing')

const put = (id: number | string, body: unknown, key = owner.key) =>
  api.call('PUT', `/api/incidents/${id}`, { key, body })
const incidents = async (query = '', key = owner.key) =>
  (await api.get(`/api/incidents${query}`, key)).body['incidents'] as Incident[]
const acknowledgedOf = async (id: number) => (await incidents()).find((each) => each.id === id)!.acknowledged

// Proves decided "Incidents that somebody takes care of"
it('200: an incident says who takes care of it, since when and with which note, until nobody does', async () => {
  assert.equal(await acknowledgedOf(first), null)
  const asked = await put(first, { acknowledged: true, note: ' Asked the host.\nTicket 12 ' })
  assert.equal(asked.status, 200, asked.text)
  const { id, acknowledged } = asked.body['incident'] as Incident
  assert.deepEqual([id, acknowledged!.by, acknowledged!.note], [first, 'test', 'Asked the host.\nTicket 12'])
  assert.deepEqual(await acknowledgedOf(first), acknowledged)
  assert.match(acknowledged!.at, /^\d{4}-.*Z$/)

  const cookie = await api.session(owner)
  const byPerson = await api.call('PUT', `/api/incidents/${first}`, { cookie, body: { acknowledged: true } })
  const person = (byPerson.body['incident'] as Incident).acknowledged
  assert.deepEqual([person!.by, person!.note], [owner.email, null])

  const released = await put(first, { acknowledged: false, note: 'ignored' })
  assert.equal((released.body['incident'] as Incident).acknowledged, null)
  assert.equal(await acknowledgedOf(first), null)
})

// Proves decided "Incidents that somebody takes care of"
it('200: the name of the API key that acknowledged it', async () => {
  const asked = { name: 'pager', expiresAt: null }
  const { key } = await createKey(api.pool, owner.id, asked, {
    plans: DEFAULT_PLANS,
    nowMs: api.clock.nowMs(),
  })
  const { body } = await put(second, { acknowledged: true }, key)
  assert.equal((body['incident'] as Incident).acknowledged!.by, 'pager')
  await put(second, { acknowledged: false })
})

it(`200: a note of ${NOTE_LIMIT_CHARS} characters; 400: one more, and fields that are missing or wrong`, async () => {
  const note = 'x'.repeat(NOTE_LIMIT_CHARS)
  assert.equal((await put(first, { acknowledged: true, note })).status, 200)
  assertAnswer(
    await put(first, { acknowledged: true, note: `${note}x` }),
    400,
    /^note must have at most 1000/,
  )
  assertAnswer(await put(first, { acknowledged: true, note: 'a\0b' }), 400, /^note must not contain a null/)
  assertAnswer(await put(first, {}), 400, 'acknowledged is required')
  assertAnswer(await put(first, { acknowledged: 'yes' }), 400, /^acknowledged must be a boolean/)
  assert.equal((await acknowledgedOf(first))!.note, note)
})

it('the audit log has who took care of an incident and who gave it back, with the note', async () => {
  const recorded = async () => {
    const cookie = await api.session(owner)
    const { body } = await api.call('GET', '/api/audit?action=incident.*', { cookie })
    return (body['entries'] as AuditEntryView[]).map(({ action, actor, domain, target, details }) => ({
      ...{ action, by: actor.name, domain, target, details },
    }))
  }
  const before = (await recorded()).length
  await put(third, { acknowledged: false })
  assert.equal((await recorded()).length, before, 'nobody took care of it before either')
  await put(third, { acknowledged: true, note: 'On it.' })
  await put(third, { acknowledged: false })
  await put(987_654, { acknowledged: true })
  const entries = await recorded()
  const about = { by: 'test', domain: 'blog.example.com', target: 'renders_failing' }
  assert.deepEqual(entries.slice(0, entries.length - before), [
    {
      action: 'incident.reopened',
      ...about,
      details: { incident: third, acknowledged_by: 'test', note: 'On it.' },
    },
    { action: 'incident.acknowledged', ...about, details: { incident: third, note: 'On it.' } },
  ])
})

it('404: an unknown incident, one of another account, and one of a domain that the key is not for', async () => {
  for (const id of [987_654, 0, 'x', '1e3']) {
    assertAnswer(await put(id, { acknowledged: true }), 404, 'Incident not found')
  }
  assertAnswer(await put(second, { acknowledged: true }, stranger.key), 404, 'Incident not found')
  const asked = { name: 'limited', expiresAt: null, domains: [shop.name] }
  const { key } = await createKey(api.pool, owner.id, asked, {
    plans: DEFAULT_PLANS,
    nowMs: api.clock.nowMs(),
  })
  assertAnswer(await put(second, { acknowledged: true }, key), 404, 'Incident not found')
  assert.equal((await put(first, { acknowledged: true }, key)).status, 200)
  assert.equal(await acknowledgedOf(second), null)
})

// Proves decided "Incidents that somebody takes care of"
it('an incident that somebody takes care of is not repeated by e-mail, and is again afterwards', async () => {
  await api.pool.query(`update incident set opened_at = now() - interval '25 hours'`)
  await put(first, { acknowledged: true })
  const reminded = async () => {
    await evaluate(api.pool, { plans: DEFAULT_PLANS, publicUrl: null, speed: 1 })
    return api.database.column<string>(
      `select split_part(key, ' ', 2) from event where type = 'mail.reminder' order by key`,
    )
  }
  assert.deepEqual(await reminded(), [second, third].map(String).sort())
  await put(first, { acknowledged: false })
  assert.deepEqual(await reminded(), [first, second, third].map(String).sort())
})

it('200: the list by kind and state; 400: an unknown one is named', async () => {
  const ids = async (query: string) => valuesOf(await incidents(query), 'id')
  assert.deepEqual(await ids('?kind=blocked'), [first])
  assert.deepEqual(await ids('?kind=blocked,renders_failing&state=open'), [third, first])
  assert.deepEqual(await ids('?kind=blocked&domain=blog.example.com'), [])
  assert.deepEqual(await ids('?kind=dns_lost'), [])
  assertAnswer(await api.get('/api/incidents?kind=bad', owner.key), 400, /^kind/)
  assertAnswer(await api.get('/api/incidents?kind=', owner.key), 400, /^kind/)
})
