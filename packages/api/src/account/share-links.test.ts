import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_BRANDING } from '@prepaint/contract/api/branding.ts'
import { NO_CLIENT_LIMITS } from '@prepaint/runtime/http/client-limits.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { createShareLink, removeOldShareLinks } from '@prepaint/service/accounts/share-links.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { assertAnswer, openApi, startTestApi } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { SHARE_FAILURES } from '../http/failed-attempts.ts'

const api = await openApi({ publicUrl: 'https://prepaint.example' })
const account = await api.account('agency_plus')
const own = await api.domain(account, 'shared.example.com')
const hidden = await api.domain(account, 'private.example.com')
const cookie = await api.session(account)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Made = { share_link: { id: number; expires_at: string; domains: string[] }; token: string; url: string }

const inMs = (ms: number) => new Date(api.clock.nowMs() + ms).toISOString()

async function made(more: object = {}, as = cookie): Promise<Made> {
  const body = { name: 'Client', domains: [own.name], ...more }
  const answer = await api.call('POST', '/api/share-links', { cookie: as, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body as Made
}

const show = (path: string, token: string) => api.call('GET', path, { headers: { 'x-share-token': token } })
const INVALID = 'This link is used, expired or invalid'

// Proves decided "Share links"
describe('a share link', () => {
  it('201: shows its token once, behind the # of /shared, for 90 days, without pages', async () => {
    const { share_link: link, token, url } = await made()
    assert.match(token, /^pp_sh_[\w-]{43}$/)
    assert.equal(url, `https://prepaint.example/shared#${token}`)
    const { id, ...shown } = link as Record<string, unknown>
    assert.deepEqual(shown, {
      name: 'Client',
      domains: [own.name],
      parts: ['overview', 'traffic', 'incidents', 'report'],
      created_at: inMs(0),
      expires_at: inMs(90 * DAY_MS),
      last_used_at: null,
      created_by: account.email,
    })
    const list = await api.call('GET', '/api/share-links', { cookie })
    assert.equal(list.text.includes(token), false)
    assert((list.body['share_links'] as { id: number }[]).some((each) => each.id === id))
    assertAnswer(await show('/api/shared', token), 200, {
      share: {
        account: { name: account.email, branding: NO_BRANDING },
        domains: [own.name],
        parts: ['overview', 'traffic', 'incidents', 'report'],
        expires_at: inMs(90 * DAY_MS),
      },
    })
  })

  it('shows its domains only, and says when it was last used', async () => {
    const { share_link: link, token } = await made()
    const { body } = await show('/api/domains', token)
    assert.deepEqual(
      (body['domains'] as { custom_domain: string }[]).map((each) => each.custom_domain),
      [own.name],
    )
    assertAnswer(await show('/api/domains/private.example.com', token), 404, 'Domain not found')
    await until('the use is stored', async () => {
      const used = 'select last_used_at from share_link where id = $1'
      return (await api.database.column(used, link.id))[0] !== null
    })
  })

  it('400: refuses bad lifetimes, empty lists and unknown parts; 404 a domain that the account lacks', async () => {
    const post = (more: object) =>
      api.call('POST', '/api/share-links', { cookie, body: { name: 'x', domains: [own.name], ...more } })
    for (const expires_at of [inMs(HOUR_MS - 1_000), inMs(400 * DAY_MS + 1_000)]) {
      assertAnswer(await post({ expires_at }), 400, 'expires_at must be in 1 hour to 400 days')
    }
    assert.match((await post({ expires_at: 'soon' })).text, /"expires_at must be a time/)
    assertAnswer(await post({ parts: [] }), 400, 'parts must name at least one part')
    assert.equal((await post({ parts: ['settings'] })).status, 400)
    assertAnswer(await post({ domains: [] }), 400, 'domains must name at least one domain')
    assertAnswer(await post({ domains: [own.name, 'foreign.example.com'] }), 404, 'Domain not found')
    assert.equal((await post({ name: ' ' })).status, 400)
    for (const ms of [HOUR_MS, 400 * DAY_MS]) assert.equal((await post({ expires_at: inMs(ms) })).status, 201)
  })

  it('401: after revocation and expiry, and for what never was a link, alike', async () => {
    const revoked = await made()
    const path = `/api/share-links/${revoked.share_link.id}`
    assertAnswer(await api.call('DELETE', path, { cookie }), 200, {
      deleted: { id: revoked.share_link.id, name: 'Client' },
    })
    assertAnswer(await show('/api/shared', revoked.token), 401, INVALID)
    assertAnswer(await api.call('DELETE', path, { cookie }), 404, 'Share link not found')
    const short = await made({ expires_at: inMs(HOUR_MS) })
    api.clock.atMs += HOUR_MS
    for (const token of [short.token, 'pp_sh_unknown', account.key, '']) {
      assertAnswer(await show('/api/domains', token), 401, INVALID)
      assertAnswer(await show('/api/shared', token), 401, INVALID)
    }
    assertAnswer(await api.call('GET', '/api/shared', { cookie, key: account.key }), 401, INVALID)
  })

  it('reaches nothing once its domains are deleted, and not the next domain of that name', async () => {
    const { name } = await api.domain(account, 'short-lived.example.com')
    const { token } = await made({ domains: [name] })
    const asked = { cookie: await api.session(account) }
    assert.equal((await api.call('DELETE', `/api/domains/${name}`, asked)).status, 200)
    await api.domain(account, name)
    assertAnswer(await show('/api/domains', token), 200, { domains: [] })
    assertAnswer(await show(`/api/domains/${name}`, token), 404, 'Domain not found')
  })

  it('403: while its account is suspended', async () => {
    const other = await api.account('agency_plus')
    const { name } = await api.domain(other, 'suspended.example.com')
    const { token } = await made({ domains: [name] }, await api.session(other))
    await api.pool.query('update account set suspended_at = now() where id = $1', [other.id])
    const text = 'This account is suspended: ask the operator'
    assertAnswer(await show('/api/shared', token), 403, text)
    assertAnswer(await show('/api/domains', token), 403, text)
  })

  it('403: the 101st of an account', async () => {
    const other = await api.account('agency_plus')
    const { id } = await api.domain(other, 'many.example.com')
    await api.pool.query(
      `insert into share_link (account_id, name, token_hash, domains, parts, created_at, expires_at)
       select $1, 'x', sha256(n::text::bytea), array[$2::integer], '{traffic}', $3, $4 from generate_series(1, 100) n`,
      [other.id, id, inMs(0), inMs(DAY_MS)],
    )
    const body = { name: 'x', domains: ['many.example.com'] }
    const asked = { cookie: await api.session(other), body }
    const answer = await api.call('POST', '/api/share-links', asked)
    assertAnswer(answer, 403, 'Share link limit reached (100 per account)')
    await api.pool.query(`update share_link set expires_at = $2 where account_id = $1`, [other.id, inMs(-1)])
    assert.equal((await api.call('POST', '/api/share-links', asked)).status, 201, 'expired ones do not count')
  })

  it('an editor for some domains sees, makes and revokes links within these only', async () => {
    const person = await addPerson(api.pool, { email: 'editor@example.com', password: null })
    await addMember(api.pool, account.id, person, { role: 'editor', domains: [own.id] })
    const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
    const editor = `__Host-prepaint-session=${started!.token}`
    const wide = await made({ name: 'Wide', domains: [own.name, 'private.example.com'] })
    const { share_link: narrow } = await made({ name: 'Narrow' }, editor)
    const list = await api.call('GET', '/api/share-links', { cookie: editor })
    assert.match(list.text, /Narrow/)
    assert.doesNotMatch(list.text, /Wide|private\.example/)
    const wanted = { name: 'x', domains: ['private.example.com'] }
    const refused = await api.call('POST', '/api/share-links', { cookie: editor, body: wanted })
    assertAnswer(refused, 404, 'Domain not found')
    const revoke = (id: number) => api.call('DELETE', `/api/share-links/${id}`, { cookie: editor })
    assertAnswer(await revoke(wide.share_link.id), 404, 'Share link not found')
    assert.equal((await revoke(narrow.id)).status, 200)
  })

  it('404: names no domain that its maker lost while the request waited for its body', async () => {
    const person = await addPerson(api.pool, { email: 'late@example.com', password: null })
    await addMember(api.pool, account.id, person, { role: 'editor', domains: [own.id] })
    const { rows } = await api.pool.query<{ id: number }>('select id from member where person_id = $1', [
      person,
    ])
    const editor = { member: Number(rows[0]!.id), role: 'editor' } as const
    const before = { account: account.id, domains: [own.id, hidden.id] }
    const ask = (...domains: string[]) => {
      const link = { name: 'late', domains, author: 'late@example.com' }
      return createShareLink(api.pool, before, editor, link, api.clock.nowMs())
    }
    await assert.rejects(ask(own.name, hidden.name), { code: 'domain_not_found' })
    assert.deepEqual((await ask(own.name)).shareLink.domains, [own.name])
  })

  it('is removed 30 days after it expired', async () => {
    await api.pool.query(`update share_link set expires_at = now() - interval '29 days'`)
    assert.equal(await removeOldShareLinks(api.pool), 0)
    await api.pool.query(`update share_link set expires_at = now() - interval '31 days'`)
    assert((await removeOldShareLinks(api.pool)) > 0)
  })
})

it('429: the 101st wrong token of an address in 15 minutes; a link that was right before still opens', async () => {
  const clients = { ...NO_CLIENT_LIMITS, unlimited: [], failures: Number.POSITIVE_INFINITY }
  const limited = await startTestApi({ clients })
  try {
    const tenant = await limited.account('agency_plus')
    const { name } = await limited.domain(tenant, 'limited.example.com')
    const asked = { cookie: await limited.session(tenant), body: { name: 'x', domains: [name] } }
    const { token } = (await limited.call('POST', '/api/share-links', asked)).body as { token: string }
    const open = (header: string) =>
      limited.call('GET', '/api/shared', { headers: { 'x-share-token': header } })
    assert.equal((await open(token)).status, 200)
    for (let at = 0; at < SHARE_FAILURES.most; at++) assert.equal((await open(`pp_sh_${at}`)).status, 401)
    const refused = await open('pp_sh_more')
    assertAnswer(refused, 429, 'Too many failed attempts, try again later')
    assert(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await open(token)).status, 200)
    limited.clock.atMs += SHARE_FAILURES.withinSeconds * 1_000
    assert.equal((await open('pp_sh_more')).status, 401)
  } finally {
    await limited.close()
  }
})
