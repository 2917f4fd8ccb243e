import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { createEndpoint } from '@prepaint/service/notifications/delivery/endpoints.ts'
import { assertAnswer, openApi, storePages } from '../../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account()
const stranger = await api.account()
const { id, name } = await api.domain(owner, 'shop.example.com')
const PATH = `/api/domains/${name}/checklist`

type Checklist = { items: { item: string; done_at: string | null }[]; is_hidden: boolean }

const read = async (): Promise<Checklist> => {
  const answer = await api.get(PATH, owner.key)
  assert.equal(answer.status, 200, answer.text)
  return answer.body['checklist'] as Checklist
}
const done = async () => (await read()).items.filter(({ done_at: at }) => at !== null).map(({ item }) => item)

// Proves decided "First steps of a domain"
it('200: each step is done once its fact is there, and stays done', async () => {
  const { items, is_hidden: isHidden } = await read()
  assert.deepEqual(
    items.map(({ item }) => item),
    ['rendered', 'requests', 'crawler', 'notified', 'team'],
  )
  // Without a mail server, the account's own address is told of nothing.
  assert.deepEqual([await done(), isHidden], [[], false])

  await storePages(api, id, ['/'])
  assert.deepEqual(await done(), ['rendered'])
  await api.pool.query('update health set live_at = now() where domain_id = $1', [id])
  await api.pool.query(`insert into traffic_last values ($1, 'Googlebot', 'search', now())`, [id])
  assert.deepEqual(await done(), ['rendered', 'requests', 'crawler'])
  await createEndpoint(api.pool, api.parts.vault, owner.id, { url: 'https://hooks.example.com/' })
  const person = await addPerson(api.pool, { email: 'second@example.com', password: null })
  await addMember(api.pool, owner.id, person, { role: 'viewer', domains: null })
  assert.deepEqual(await done(), ['rendered', 'requests', 'crawler', 'notified', 'team'])

  const [first] = (await read()).items
  await api.pool.query('delete from page')
  await api.pool.query('delete from channel')
  api.clock.atMs += 60_000
  assert.deepEqual(await done(), ['rendered', 'requests', 'crawler', 'notified', 'team'])
  assert.equal((await read()).items[0]!.done_at, first!.done_at)
})

// Proves decided "First steps of a domain"
it('200: the list is hidden for all members, and shown again; 400: neither; 404: a domain of another account', async () => {
  const hide = (body: unknown, key = owner.key) => api.call('PUT', PATH, { key, body })
  assert.equal(((await hide({ is_hidden: true })).body['checklist'] as Checklist).is_hidden, true)
  assert.equal((await read()).is_hidden, true)
  assertAnswer(await hide({}), 400, 'is_hidden is required')
  assertAnswer(await hide({ is_hidden: true }, stranger.key), 404, 'Domain not found')
  assertAnswer(await api.get(PATH, stranger.key), 404, 'Domain not found')
  assert.equal(((await hide({ is_hidden: false })).body['checklist'] as Checklist).is_hidden, false)
  assert.equal((await done()).length, 5)
})
