import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, it } from 'node:test'
import { type DomainId, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { deletePages } from '@prepaint/pages/store/purge.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { setPlan } from '@prepaint/service/accounts/accounts.ts'
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { addMember, findMember, removeMember, updateMember } from '@prepaint/service/accounts/members.ts'
import { addPerson, findContact, setOperator } from '@prepaint/service/accounts/persons.ts'
import { createShareLink, revokeShareLink } from '@prepaint/service/accounts/share-links.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { openApi, TEST_START_MS, valuesOf } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'

type TestEvent = { event: string; data: Record<string, unknown> }
type TestReader = Awaited<ReturnType<typeof openStream>>

const opened: TestReader[] = []

const limits = { perAccount: 3, perShareLink: 2, perNode: 5, bufferBytes: 512 * 1024 }
const api = await openApi({ events: { limits, times: { gatherMs: 20, beatMs: 100 } } })
const owner = await api.account()
const other = await api.account()
const domain = await api.domain(owner, 'one.example.com')
const elsewhere = await api.domain(other, 'two.example.com')
afterEach(closed)

async function openStream(url: string, headers: Record<string, string>) {
  const abort = new AbortController()
  const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(300_000)])
  const response = await fetch(url, { headers, signal })
  const frames = read(response)
  return {
    status: response.status,
    headers: response.headers,
    /** Skips other events. Rejects when the stream ends, or after five minutes. */
    async next(event: string): Promise<TestEvent> {
      for (;;) {
        const { value, done } = await frames.next()
        assert(done !== true, `the stream ended before an event "${event}"`)
        if (value.event === event) return value
      }
    },
    rest: (): Promise<TestEvent[]> => Readable.from(frames).toArray(),
    close: () => abort.abort(),
  }
}

async function* read(response: Response): AsyncGenerator<TestEvent, undefined> {
  let text = ''
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part
    const frames = text.split('\n\n')
    text = frames.pop()!
    for (const frame of frames) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
      const event = field('event')
      if (event === undefined) continue
      yield { event, data: JSON.parse(field('data') ?? '{}') }
    }
  }
}

/** A stream that is known to stand. */
async function follow(headers: Record<string, string>, path = '/api/events'): Promise<TestReader> {
  const reader = await openStream(api.url + path, headers)
  opened.push(reader)
  assert.equal(reader.status, 200)
  await reader.next('last-event-id' in headers ? 'reread' : 'hello')
  return reader
}

/** Ends all streams, and waits until the node has noticed. */
async function closed(): Promise<void> {
  for (const reader of opened.splice(0)) reader.close()
  await until('all streams are closed', () => api.events!.open === 0)
}

/** All in one transaction, which ends jobs of this domain. */
async function endJobs(paths: readonly string[], of = domain.id, outcome = 'blank', priority = 0) {
  await api.pool.query(
    `with ended as (
       insert into job (domain_id, account_id, path, priority, turn, state, outcome, finished_at)
       select $1, account_id, path, $4, 0, 'done', $3, now() from domain, unnest($2::text[]) path where domain.id = $1
       returning id)
     select pg_notify('job_done', id::text) from ended`,
    [of, paths, outcome, priority],
  )
}
const endJob = (of: DomainId, path: string) => endJobs([path], of, 'rendered', 2)

// Proves decided "Events", decided "Events of visits"
it('tells an account what happens to its domains, and nothing of what happens to others', async () => {
  const mine = await follow({ 'x-api-key': owner.key })
  const theirs = await follow({ 'x-api-key': other.key })
  assert.equal(mine.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(mine.headers.get('cache-control'), 'no-store')
  assert.equal(mine.headers.get('x-content-type-options'), 'nosniff')

  const told = async (name: string, data: object) =>
    assert.deepEqual((await theirs.next(name)).data, { domain: 'two.example.com', ...data })
  await api.pool.query(`insert into render_count values ($1, '2026-11-01', 7)`, [elsewhere.id])
  await endJob(elsewhere.id, '/secret')
  await told('render', { path: '/secret', priority: 'warm', state: 'done', outcome: 'rendered' })
  await told('quota', { renders_used: 7, monthly_render_limit: 200_000 })
  await told('warm', { queued: 0, running: 0, warming: false })
  await deletePages(api.pool, elsewhere.id, { kind: 'all' }, 'purge')
  await told('pages', { path: null })
  const visited = new VisitedNotices(api.pool, silentLog())
  visited.add([elsewhere.id])
  await visited.close()
  await told('visits', {})

  await deletePages(api.pool, domain.id, { kind: 'path', path: '/p' as never }, 'purge')
  assert.deepEqual((await mine.next('pages')).data, { domain: 'one.example.com', path: '/p' })
  await startWarm(api.pool, domain.id)
  assert.equal((await mine.next('warm')).data['warming'], true)
  const put = { body: { is_active: false }, key: owner.key }
  await api.call('PUT', '/api/domains/one.example.com', put)
  const changed = { domain: 'one.example.com', is_active: false, certificate_ends_at: null }
  assert.deepEqual((await mine.next('domain')).data, changed)
  await setPlan(api.pool, DEFAULT_PLANS, owner.id, 'enterprise')
  await mine.next('account')

  // All that came on the whole stream, and not only what was looked for.
  const session = await api.session(owner)
  const watched = await follow({ cookie: session })
  await endJob(elsewhere.id, '/secret-2')
  await theirs.next('render')
  await api.call('DELETE', '/api/session', { cookie: session })
  assert.deepEqual(valuesOf(await watched.rest(), 'event'), ['end'])
})

// Proves decided "Events"
it('ends when what let it in ends: sign-out, expiry, revocation, a plan without keys, suspension', async () => {
  const ends: [string, () => Promise<unknown>, Record<string, string>][] = []
  const session = await api.session(owner)
  const signOut = () => api.call('DELETE', '/api/session', { cookie: session })
  ends.push(['sign-out', signOut, { cookie: session }])

  const now = { plans: DEFAULT_PLANS, nowMs: TEST_START_MS }
  const { key, id } = await createKey(api.pool, owner.id, { name: 'x', expiresAt: null }, now)
  const revoke = () => revokeKey(api.pool, owner.id, id, TEST_START_MS)
  ends.push(['revocation', revoke, { 'x-api-key': key }])

  const expire = () =>
    api.pool.query(
      'update session set expires_at = $2 where person_id in (select person_id from member where account_id = $1)',
      [other.id, new Date(TEST_START_MS - 1)],
    )
  ends.push(['expiry', expire, { cookie: await api.session(other) }])

  const demote = () => setPlan(api.pool, DEFAULT_PLANS, other.id, 'starter')
  ends.push(['a plan without keys', demote, { 'x-api-key': other.key }])

  const suspend = (at: string | null) =>
    api.pool.query('update account set suspended_at = $2 where id = $1', [owner.id, at])
  ends.push(['suspension', () => suspend('2026-11-15'), { 'x-api-key': owner.key }])

  for (const [why, act, headers] of ends) {
    const reader = await follow(headers)
    await act()
    assert.deepEqual((await reader.rest()).at(-1)?.data, { reason: 'access' }, why)
  }
  await suspend(null)
  await setPlan(api.pool, DEFAULT_PLANS, other.id, 'agency_plus')
})

it('a member’s stream has the domains that the member is limited to, and ends when role or domains change', async () => {
  const account = await api.account('enterprise')
  const within = await api.domain(account, 'within.example.com')
  const beyond = await api.domain(account, 'beyond.example.com')
  const person = await addPerson(api.pool, { email: 'limited@example.com', password: null })
  await addMember(api.pool, account.id, person, { role: 'viewer', domains: [within.id] })
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  const cookie = `prepaint-session=${started!.token}`
  const member = await findMember(api.pool, account.id, 'limited@example.com')
  const asOwner = { member: null, role: 'owner' } as const

  for (const change of [
    { role: 'editor' },
    { domains: [beyond.name] },
    { domains: [within.name] },
  ] as const) {
    const reader = await follow({ cookie })
    await updateMember(api.pool, account.id, asOwner, member, change)
    assert.deepEqual((await reader.rest()).at(-1)?.data, { reason: 'access' })
  }
  const reader = await follow({ cookie })
  for (const { id } of [beyond, within]) {
    await api.pool.query(
      `with opened as (
         insert into incident (account_id, domain_id, kind, since, summary, evidence)
         values ($1, $2, 'blocked', now(), '', '{"count":1,"pages":[],"changes":[],"level":null,"advice":"","url":""}') returning id)
       select record_incident(id, 'incident.opened', 'test ' || id) from opened`,
      [account.id, id],
    )
    await transaction(api.pool, (client) => deletePages(client, id, { kind: 'all' }, 'purge'))
  }
  assert.equal((await reader.next('incident')).data['domain'], within.name)
  await removeMember(api.pool, account.id, asOwner, member, { revokesKeys: false, nowMs: TEST_START_MS })
  const events = await reader.rest()
  assert.deepEqual(events.at(-1)?.data, { reason: 'access' }, 'removing a member')
  assert(!JSON.stringify(events).includes(beyond.name), JSON.stringify(events))
})

// Proves decided "Events"
it('401 without, 429 one too many of an account, 503 one too many of the node; at the limit neither', async () => {
  const refused = async (headers: Record<string, string>) => {
    const { status, body, text } = await api.call('GET', '/api/events', { headers })
    assert.match(text, /error/)
    return [status, body['error']]
  }
  assert.deepEqual(await refused({}), [401, 'API key required'])
  assert.deepEqual(await refused({ 'x-api-key': 'pp_live_x' }), [401, 'Invalid API key'])
  for (let n = 0; n < 3; n++) await follow({ 'x-api-key': owner.key })
  const full = [429, 'Too many event streams (20 per account)']
  assert.deepEqual(await refused({ 'x-api-key': owner.key }), full)
  for (let n = 0; n < 2; n++) await follow({ 'x-api-key': other.key })
  const unavailable = [503, 'Live updates are not available now, try again later']
  assert.deepEqual(await refused({ 'x-api-key': other.key }), unavailable)
  await closed()
  await follow({ 'x-api-key': owner.key, 'last-event-id': '1' })
})

it('429: one too many of a share link; it takes none from the members of the account', async () => {
  const asked = { name: 'wall', domains: [domain.name], author: null }
  const actor = { member: null, role: 'owner' } as const
  const { token } = await createShareLink(
    ...([api.pool, { account: owner.id, domains: null }, actor, asked, api.clock.nowMs()] as const),
  )
  for (let n = 0; n < 2; n++) await follow({ 'x-share-token': token })
  const { status, body } = await api.call('GET', '/api/events', { headers: { 'x-share-token': token } })
  assert.deepEqual([status, body['error']], [429, 'Too many event streams (5 per share link)'])
  for (let n = 0; n < 3; n++) await follow({ 'x-api-key': owner.key })
})

// Proves decided "Events"
it('whoever does not read is cut off, and what he left is not kept', async (t) => {
  const socket = net.connect(Number(new URL(api.url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.pause()
  socket.write(`GET /api/events HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${owner.key}\r\n\r\n`)
  const quick = await follow({ 'x-api-key': owner.key })
  await until('both streams are open', () => api.events!.open === 2)
  const gone = once(socket, 'close')
  const paths = Array.from({ length: 90 }, (_, n) => `/${'p'.repeat(2_000)}${n}`)
  // The kernel holds some megabytes before it says that nobody reads.
  for (let round = 0; api.events!.open > 1; round++) {
    assert(round < 1_000, 'somebody who does not read is still served')
    await endJobs(paths.map((path) => path + round))
    for (const _ of paths) await quick.next('render')
  }
  socket.resume()
  await gone
})

it('a hundred events at a time are told one by one, of more only that there was much', async () => {
  const reader = await follow({ 'x-api-key': owner.key })
  const jobs = (count: number, name: string) =>
    endJobs(Array.from({ length: count }, (_, n) => `/${name}-${n}`))
  await jobs(100, 'some')
  for (let n = 0; n < 100; n++) await reader.next('render')
  await jobs(101, 'many')
  await reader.next('reread')
})

it('GET /api/operator/events: operators hear how many jobs ended in the fleet, and of others no more than that', async () => {
  const boss = await api.account()
  const cookie = await api.session(boss)
  assert.equal((await api.call('GET', '/api/operator/events', { cookie })).status, 403)
  const { id: person } = await findContact(api.pool, boss.id)
  await setOperator(api.pool, person, true)
  const reader = await follow({ cookie }, '/api/operator/events')
  await endJob(domain.id, '/of-somebody-else')
  assert.deepEqual((await reader.next('fleet')).data, { jobs_ended: 1 })
  await setOperator(api.pool, person, false)
  assert.deepEqual(valuesOf(await reader.rest(), 'event'), ['end'])
})

// Proves decided "Share links"
it('a share link hears of its domains and parts only, and its stream ends when it is revoked', async () => {
  const beyond = await api.domain(owner, 'beyond-share.example.com')
  const actor = { member: null, role: 'owner' } as const
  const asked = { name: 'x', domains: ['one.example.com'], parts: ['traffic'] as const, author: null }
  const scope = wholeAccount(owner.id)
  const { shareLink, token } = await createShareLink(api.pool, scope, actor, asked, api.clock.nowMs())
  const holder = await follow({ 'x-share-token': token })
  assert.equal((await fetch(`${api.url}/api/events?token=${token}`)).status, 401, 'never from a query')
  const visited = new VisitedNotices(api.pool, silentLog())
  await endJob(domain.id, '/page')
  await endJob(beyond.id, '/page')
  visited.add([beyond.id])
  visited.add([domain.id])
  await visited.close()
  const told = await holder.next('visits')
  assert.deepEqual(told.data, { domain: 'one.example.com' })
  await revokeShareLink(api.pool, scope, actor, shareLink.id)
  const rest = await holder.rest()
  assert.deepEqual(rest.at(-1), { event: 'end', data: { reason: 'access' } })
  for (const { event, data } of rest) {
    assert(!['render', 'pages', 'warm', 'incident'].includes(event), event)
    assert.notEqual(data['domain'], 'beyond-share.example.com')
  }
})

it('a node that ends tells those who listen, and opens no stream any more', async () => {
  const reader = await follow({ 'x-api-key': owner.key })
  api.events!.close()
  assert.deepEqual((await reader.rest()).at(-1)?.data, { reason: 'node' })
  const { status } = await api.get('/api/events', owner.key)
  assert.equal(status, 503)
})
