import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_BRANDING } from '@prepaint/contract/api/branding.ts'
import { readLook } from '@prepaint/service/accounts/branding.ts'
import { createShareLink } from '@prepaint/service/accounts/share-links.ts'
import { assertAnswer, openApi, type TestAnswer } from '../../../../test/support/api.ts'
import { pngOf, webpOf } from '../../../../test/support/pictures.ts'

const api = await openApi()
const account = await api.account()
const cookie = await api.session(account)
const PATH = '/api/account/branding'

const change = (body: unknown) => api.call('PUT', PATH, { cookie, body })
const upload = (body: unknown, type = 'image/png') =>
  api.call('PUT', `${PATH}/logo`, { cookie, body, headers: { 'content-type': type } })
const logoOf = ({ body }: TestAnswer) => (body['branding'] as { logo_url: string | null }).logo_url

// Proves decided "White label"
describe('the branding of an account', () => {
  it('200: nothing is chosen at first; what is absent stays, null takes it back', async () => {
    const other = await api.account()
    const asked = { cookie: await api.session(other) }
    const put = (body: unknown) => api.call('PUT', PATH, { ...asked, body })
    assertAnswer(await api.get(PATH, other.key), 200, { branding: NO_BRANDING })
    const chosen = {
      name: 'Blue Agency',
      colour: '#1A7F64',
      sender_name: 'Blue, the agency',
      show_prepaint: false,
    }
    const branding = { ...chosen, colour: '#1a7f64', logo_url: null }
    assertAnswer(await put(chosen), 200, { branding })
    assertAnswer(await put({}), 200, { branding })
    assertAnswer(await put({ colour: null }), 200, { branding: { ...branding, colour: null } })
    assertAnswer(await api.get(PATH, other.key), 200, { branding: { ...branding, colour: null } })
    assertAnswer(await api.get(PATH, account.key), 200, { branding: NO_BRANDING })
  })

  it('400: names have 1 to 80 characters without control or direction characters', async () => {
    for (const field of ['name', 'sender_name']) {
      assert.equal((await change({ [field]: 'ä'.repeat(80) })).status, 200)
      for (const wrong of ['', '   ', 'ä'.repeat(81)]) {
        assertAnswer(await change({ [field]: wrong }), 400, `${field} must have 1 to 80 characters`)
      }
      for (const wrong of ['a\r\nBcc: x', 'a\nb', 'a\u0000b', 'a\u202eb', 'a\u2066b', 'a\u2028b']) {
        const text = `${field} must not contain control or direction characters`
        assertAnswer(await change({ [field]: wrong }), 400, text)
      }
      const encoded = `=?utf-8?B?${Buffer.from('Bank <ceo@bank.example>').toString('base64')}?=`
      assertAnswer(await change({ [field]: encoded }), 400, `${field} must not contain =?`)
    }
    for (const wrong of ['a <b', 'a>b', 'a "b"', 'a@b', 'a\\b']) {
      assertAnswer(await change({ sender_name: wrong }), 400, 'sender_name must not contain < > " @ or \\')
    }
  })

  it('400: a colour is #rrggbb, and show_prepaint a boolean', async () => {
    for (const wrong of ['#fff', 'red', '#12345', '#1234567', '#12345g', '123456', 'url(x)', '']) {
      assertAnswer(await change({ colour: wrong }), 400, 'colour must be a colour such as #0f6d5e')
    }
    assert.equal((await change({ show_prepaint: 'no' })).status, 400)
  })

  it('403: an editor and a key cannot change it', async () => {
    assertAnswer(await api.call('PUT', PATH, { key: account.key, body: {} }), 401, 'Sign in first')
  })

  it('a share link shows it, with every part', async () => {
    const { name } = await api.domain(account, 'branded.example.com')
    await change({ name: 'Blue Agency', sender_name: null })
    const { token } = await createShareLink(
      api.pool,
      { account: account.id, domains: null },
      { member: null, role: 'owner' },
      { name: 'x', domains: [name], parts: ['traffic'], author: null },
      api.clock.nowMs(),
    )
    const headers = { 'x-share-token': token }
    const { body } = await api.call('GET', '/api/shared', { headers })
    assert.partialDeepStrictEqual(body, { share: { account: { branding: { name: 'Blue Agency' } } } })
    const own = await api.call('GET', PATH, { headers })
    assert.partialDeepStrictEqual(own.body, { branding: { name: 'Blue Agency' } })
    assertAnswer(await api.call('PUT', PATH, { headers, body: {} }), 403, 'This link does not allow this')
  })

  it('401: an expired link names whom to ask and how the account looks, in headers: its answer is that of every link', async () => {
    await change({ name: 'Blue Agency', colour: '#1a7f64', show_prepaint: false })
    const { name } = await api.domain(account, 'expired.example.com')
    const { token } = await createShareLink(
      api.pool,
      { account: account.id, domains: null },
      { member: null, role: 'owner' },
      { name: 'x', domains: [name], author: null },
      api.clock.nowMs(),
    )
    const headers = { 'x-share-token': token }
    const current = await api.call('GET', '/api/shared', { headers })
    assert.equal(current.headers.get('prepaint-branding'), null)
    api.clock.atMs += 91 * 86_400_000
    const ended = await api.call('GET', '/api/shared', { headers })
    assertAnswer(ended, 401, { error: 'This link is used, expired or invalid' })
    assert.equal(ended.headers.get('prepaint-ask'), 'Blue%20Agency')
    assert.deepEqual(JSON.parse(decodeURIComponent(ended.headers.get('prepaint-branding') ?? '')), {
      name: 'Blue Agency',
      colour: '#1a7f64',
      logo_url: null,
      show_prepaint: false,
    })
    const unknown = await api.call('GET', '/api/shared', { headers: { 'x-share-token': `${token}x` } })
    assert.equal(unknown.headers.get('prepaint-ask'), null)
    assert.equal(unknown.headers.get('prepaint-branding'), null)
    api.clock.atMs -= 91 * 86_400_000
  })

  it('letters get a brand once a name, a colour or no Prepaint is chosen', async () => {
    const other = await api.account()
    const asked = { cookie: await api.session(other) }
    assert.deepEqual(await readLook(api.pool, other.id), { brand: null, senderName: null })
    await api.call('PUT', PATH, { ...asked, body: { sender_name: 'Blue' } })
    assert.deepEqual(await readLook(api.pool, other.id), { brand: null, senderName: 'Blue' })
    await api.call('PUT', PATH, { ...asked, body: { colour: '#123456' } })
    const brand = { name: other.email, colour: '#123456', showPrepaint: true }
    assert.deepEqual(await readLook(api.pool, other.id), { brand, senderName: 'Blue' })
  })
})

describe('the logo of an account', () => {
  it('200: everybody can open it at an address that cannot be guessed, until it is another one', async () => {
    const first = await upload(pngOf(200, 80))
    assert.equal(first.status, 200, first.text)
    const url = logoOf(first)
    assert.match(url ?? '', /^\/logos\/[\w-]{43}$/)
    const picture = await fetch(api.url + url)
    assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/png'])
    assert.equal(picture.headers.get('x-content-type-options'), 'nosniff')
    assert.match(picture.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.deepEqual(Buffer.from(await picture.arrayBuffer()), pngOf(200, 80))

    const second = await upload(webpOf(64, 64), 'image/webp')
    assert.notEqual(logoOf(second), url)
    assert.equal((await fetch(api.url + url)).status, 404)
    assert.equal((await fetch(api.url + logoOf(second))).headers.get('content-type'), 'image/webp')

    const removed = await api.call('DELETE', `${PATH}/logo`, { cookie })
    assert.deepEqual([removed.status, logoOf(removed)], [200, null])
    assert.equal((await fetch(api.url + logoOf(second))).status, 404)
    for (const unknown of ['unknown', '%00', `${'a'.repeat(42)}%00`, 'a'.repeat(43)]) {
      assertAnswer(await api.get(`/logos/${unknown}`), 404, 'Not found')
    }
  })

  it('400: SVG, other pictures, and what only says that it is a picture', async () => {
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'
    const wrong: [unknown, string][] = [
      [svg, 'image/svg+xml'],
      [svg, 'image/png'],
      [Buffer.from('GIF89a'), 'image/gif'],
      [pngOf(2, 2), 'image/svg+xml'],
      [pngOf(2, 2).subarray(0, -1), 'image/png'],
      [Buffer.concat([pngOf(2, 2), Buffer.from(svg)]), 'image/png'],
      ['{}', 'application/json'],
      ['', 'image/png'],
    ]
    for (const [body, type] of wrong) {
      assertAnswer(await upload(body, type), 400, 'logo must be PNG or WebP')
    }
    // By its bytes, whichever of the two it is called.
    assert.equal((await upload(pngOf(2, 2), 'image/webp')).status, 200)
  })

  it('400: at most 256 KiB, and 1,024 pixels wide and high', async () => {
    const frame = pngOf(2, 2, { padding: 1 }).length - 1
    const limit = 256 * 1_024
    assert.equal((await upload(pngOf(2, 2, { padding: limit - frame }))).status, 200)
    const tooLarge = pngOf(2, 2, { padding: limit - frame + 1 })
    assertAnswer(await upload(tooLarge), 400, 'logo must have at most 256 KiB')
    for (const picture of [pngOf(1_024, 1), pngOf(1, 1_024)]) {
      assert.equal((await upload(picture)).status, 200)
    }
    for (const picture of [pngOf(1_025, 1), pngOf(1, 1_025)]) {
      assertAnswer(await upload(picture), 400, 'logo must be at most 1,024 pixels wide and high')
    }
    assert.equal((await upload(webpOf(1_024, 1_024), 'image/webp')).status, 200)
    const wide = await upload(webpOf(1_025, 1), 'image/webp')
    assertAnswer(wide, 400, 'logo must be at most 1,024 pixels wide and high')
  })
})
