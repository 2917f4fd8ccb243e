/** A whole node at its most talkative, while secrets of every kind go through it. */
import assert from 'node:assert/strict'
import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { runJson } from '../support/command-line.ts'
import { until } from '../support/condition.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { request } from '../support/edge.ts'
import { serve } from '../support/loopback.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { startTestSmtp } from '../support/smtp-server.ts'
import { callApi, registerDomain } from '../support/tenant.ts'

const PASSWORD = 'correct-horse-battery-staple-4711'
const GUEST_PASSWORD = 'a-guest-of-the-agency-4712'
const HEADER_SECRET = 'of-a-visitor-0815'
const COOKIE = 'session=of-a-visitor-0816'
const QUERY_SECRET = 'in-a-header-of-the-origin-0817'
const LINK_SECRET = 'in-a-link-of-a-visitor-0818'
const PROXY_SECRET = 'b2YtYS1wcm94eS0wODE5'
const BODY_SECRET = 'in-a-form-of-a-visitor-0820'
const ORIGIN_SECRET = 'of-an-owner-for-his-origin-0821'

const dataDir = makeDataDir()
const heard: unknown[] = []
let key = ''
let token = ''
/** What people hold, by what it is. */
const held = new Map<string, string>()
let totpKey = Buffer.alloc(0)
const smtp = await startTestSmtp()
const origin = await serve((request, response) => {
  heard.push(request.headers['x-origin'])
  response.setHeader('set-cookie', `secret=${QUERY_SECRET}`)
  response.setHeader('content-type', 'text/html').end('<!doctype html><p>page</p>')
})
const node = await startNodeProcess(dataDir, {
  PREPAINT_LOG_LEVEL: 'trace',
  PREPAINT_AUDIT_LOG: '1',
  PREPAINT_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
  PREPAINT_MAIL_FROM: 'Prepaint <prepaint@example.com>',
  PREPAINT_PUBLIC_URL: 'http://prepaint.example.com',
})
after(async () => {
  await node.stop()
  await smtp.close()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

async function run(...args: string[]): Promise<Record<string, unknown>> {
  const { code, json } = await runJson(args, node.settings)
  assert.equal(code, 0, JSON.stringify(json))
  return json
}

/** As the dashboard asks. Returns the body, and the cookie if one was set. */
async function ask(
  method: string,
  to: string,
  { cookie = '', body, wanted = [200] }: { cookie?: string; body?: object; wanted?: number[] },
) {
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', cookie }
  const init: RequestInit = { method, headers }
  if (body !== undefined) init.body = JSON.stringify(body)
  const answer = await fetch(node.api + to, init)
  const text = await answer.text()
  assert(wanted.includes(answer.status), `${method} ${to}: ${answer.status} ${text}`)
  const set = answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  return { cookie: set, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
}

/** The token of the link in a letter to this address. */
async function linkTo(email: string, prefix: string): Promise<string> {
  return until(`a letter to ${email}`, () => {
    for (const { to, data } of smtp.mails) {
      const text = data.replaceAll('=\r\n', '').replaceAll('=3D', '=')
      const found = new RegExp(`#(${prefix}[\\w-]+)`).exec(text)?.[1]
      if (to.includes(email) && found !== undefined && ![...held.values()].includes(found)) return found
    }
    return null
  })
}

/** A person signs in, sets up a second factor, invites, shares and changes the address: with every secret right and wrong. */
async function usePersonalSecrets(): Promise<void> {
  const credentials = { email: 'a@b.example', password: PASSWORD }
  const first = await ask('POST', '/api/session', { body: credentials })
  held.set('a session that has ended', first.cookie.split('=')[1]!)

  const { body: made } = await ask('POST', '/api/second-factor/totp', { cookie: first.cookie })
  const secret = Secret.fromBase32(String(made['secret']))
  totpKey = Buffer.from(secret.bytes)
  held.set('the key of an authenticator app', String(made['secret']))
  const code = new TOTP({ secret }).generate()
  const confirmed = await ask('POST', '/api/second-factor/totp/confirm', {
    cookie: first.cookie,
    body: { code },
  })
  const [used = '', unused = ''] = confirmed.body['recovery_codes'] as string[]
  held.set('a recovery code that was used', used)
  held.set('a recovery code', unused)
  await ask('DELETE', '/api/sessions', { cookie: confirmed.cookie || first.cookie })

  for (const wrong of [true, false]) {
    const { body } = await ask('POST', '/api/session', { body: credentials, wanted: [202] })
    const { token: step } = body['second_factor'] as { token: string }
    held.set(`the token of a second step${wrong ? '' : ' that was used'}`, step)
    const recovery = wrong ? 'aaaaa-aaaaa' : used
    const entered = await ask('POST', '/api/session/second-factor', {
      body: { token: step, recovery_code: recovery },
      wanted: [200, 401],
    })
    if (!wrong) held.set('a session', entered.cookie.split('=')[1]!)
  }
  const cookie = `${first.cookie.split('=')[0]}=${held.get('a session')}`

  const share = { name: 'Client', domains: ['shop.example'] }
  const shared = await ask('POST', '/api/share-links', { cookie, body: share, wanted: [201] })
  held.set('a share link', String(shared.body['token']))
  const front = await ask('POST', '/api/domains/shop.example/site-token', { cookie, wanted: [201] })
  held.set('a site token', String(front.body['token']))
  for (const name of ['a share link', 'a site token']) {
    const secretOf = held.get(name)!
    for (const headers of [
      { 'x-share-token': secretOf },
      { 'x-prerender-token': secretOf },
      { 'x-api-key': secretOf },
    ]) {
      for (const to of [
        '/api/shared',
        '/https://shop.example/a',
        `/api/domains/${secretOf}`,
        `/shared?${secretOf}`,
      ]) {
        await (await fetch(node.api + to, { headers })).text()
      }
    }
  }

  for (const email of ['joins@b.example', 'waits@b.example']) {
    await ask('POST', '/api/invitations', { cookie, body: { email, role: 'viewer' }, wanted: [201] })
    held.set(`an invitation of ${email}`, await linkTo(email, 'pp_in_'))
  }
  const invitation = held.get('an invitation of joins@b.example')!
  await ask('POST', '/api/links/read', { body: { token: invitation } })
  await ask('POST', '/api/links/read', { body: { token: `${invitation}x` }, wanted: [404] })
  await (await fetch(`${node.api}/welcome?${invitation}`)).text()
  const joined = await ask('POST', '/api/links/use', {
    body: { token: invitation, password: GUEST_PASSWORD },
  })
  held.set('the session of a guest', joined.cookie.split('=')[1]!)
  await ask('POST', '/api/password-reset', { body: { email: 'joins@b.example' }, wanted: [204] })
  held.set('a link to reset a password', await linkTo('joins@b.example', 'pp_in_'))

  await ask('POST', '/api/person/email', { cookie, body: { email: 'new@b.example' }, wanted: [202] })
  held.set('a link that confirms an address', await linkTo('new@b.example', 'pp_em_'))
  held.set('a link that undoes a change', await linkTo('a@b.example', 'pp_em_'))
  const confirming = { token: held.get('a link that confirms an address')! }
  await ask('POST', '/api/person/email/confirm', { body: confirming })
  await ask('POST', '/api/person/email/confirm', { body: confirming, wanted: [404] })
}

it('nothing secret is logged, whatever is done with it', async () => {
  await run('account', 'create', '--email', 'a@b.example', '--plan', 'agency_plus', '--password', PASSWORD)
  key = String((await run('key', 'create', '--email', 'a@b.example', '--name', 'k'))['key'])
  await registerDomain(node, key, { customDomain: 'shop.example', originUrl: origin.url })
  await callApi(node, key, {
    ...{ method: 'PUT', path: '/api/domains/shop.example' },
    body: { settings: { origin_headers: [{ name: 'X-Origin', value: ORIGIN_SECRET, for: 'all' }] } },
  })
  token = String((await run('token', 'create', '--domain', 'shop.example', '--name', 't'))['token'])

  await usePersonalSecrets()

  // Right, wrong, in the wrong place, in a path, in a body that cannot be read.
  const wrong = `${key.slice(0, -4)}AAAA`
  const asked = [key, wrong, token].map((one) => callApi(node, one, { method: 'GET', path: '/api/domains' }))
  assert.deepEqual((await Promise.all(asked)).map(({ status }) => status).slice(0, 2), [200, 401])
  await callApi(node, key, { method: 'GET', path: `/api/domains/${key}` })
  const post = (path: string, headers: Record<string, string>, body: string) =>
    fetch(node.api + path, {
      ...{ method: 'POST', body },
      headers: { 'content-type': 'application/json', ...headers },
    })
  await post('/api/webhook/refresh', { authorization: `Bearer ${token}` }, '{"urls":["/a"]}')
  await post('/api/webhook/refresh', { authorization: `Basic ${token}` }, `{"${token}`)
  await post('/api/cache/purge', { 'x-api-key': key, 'content-type': 'text/plain' }, key)
  for (const bearer of [key, wrong]) {
    const url = `https://shop.example/?token=${LINK_SECRET}`
    await post('/api/render', { authorization: `Bearer ${bearer}` }, JSON.stringify({ url }))
    await fetch(`${node.api}/https://shop.example/a`, { headers: { 'x-prerender-token': bearer } })
  }

  const edgePort = Number(new URL(node.edge).port)
  const headers = {
    ...{ 'x-origin': 'of a client', authorization: `Bearer ${HEADER_SECRET}`, cookie: COOKIE },
    ...{ 'x-api-key': key, 'proxy-authorization': `Basic ${PROXY_SECRET}`, 'x-prerender-token': key },
  }
  const person = { host: 'shop.example', agent: 'Mozilla/5.0 Firefox/133.0', headers }
  await request(edgePort, '/', { ...person, agent: 'Googlebot/2.1' })
  await request(edgePort, `/reset?token=${LINK_SECRET}`, person)
  await request(edgePort, '/login', { ...person, method: 'POST', body: `password=${BODY_SECRET}` })
  const upgrade = { ...headers, connection: 'Upgrade', upgrade: 'websocket' }
  await request(edgePort, `/live?token=${LINK_SECRET}`, { ...person, headers: upgrade })
  assert(heard.length >= 4)
  assert.deepEqual([...new Set(heard)], [ORIGIN_SECRET], 'for crawlers and people')
  // An origin that is gone: faults are logged with most words.
  await origin.close()
  await request(edgePort, `/b?token=${LINK_SECRET}`, person)

  const log = node.log()
  assert.match(log, /shop\.example/)
  assert.match(log, /"event":"audit"/)
  assert.match(log, /Creating the database/, 'it is there from its beginning')
  const visitors = [HEADER_SECRET, PROXY_SECRET, COOKIE, QUERY_SECRET, LINK_SECRET, BODY_SECRET]
  for (const secret of [key, wrong, token, PASSWORD, GUEST_PASSWORD, ORIGIN_SECRET, ...visitors]) {
    // Nor most of it.
    assert(!log.includes(secret.slice(8)), `${secret.slice(0, 12)}... is in the log`)
  }
  assert.equal(held.size, 15)
  for (const [what, secret] of held) {
    const most = secret.startsWith('pp_') ? secret.slice(8) : secret
    assert(most.length >= 11, what)
    assert(!log.includes(most), `${what} is in the log`)
  }
})

/** What of this stands in a file under the data directory, the write-ahead log too. */
function foundInFiles(secrets: ReadonlyMap<string, Buffer>): string[] {
  const found = new Set<string>()
  for (const file of readdirSync(dataDir, { recursive: true, withFileTypes: true })) {
    const where = path.join(file.parentPath, file.name)
    if (!file.isFile() || where.includes('/chromium/')) continue
    const bytes = bytesOf(where)
    for (const [what, secret] of secrets) if (bytes.includes(secret)) found.add(what)
  }
  return [...found]
}

/** Empty if PostgreSQL has removed the file meanwhile. */
function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

it('neither key, token, code, link, cookie nor password is stored in clear', () => {
  const texts = new Map<string, string>([
    ...held,
    ...Object.entries({ key, token, PASSWORD, GUEST_PASSWORD, ORIGIN_SECRET }),
    // The other half: what is stored in clear is found.
    ['an address', 'a@b.example'],
  ])
  const secrets = new Map<string, Buffer>([['the bytes of a TOTP key', totpKey]])
  for (const [what, text] of texts) secrets.set(what, Buffer.from(text))
  for (const [what, secret] of secrets) assert(secret.length >= 11, what)
  assert.deepEqual(foundInFiles(secrets), ['an address'])
})

it('files are of mode 0600 and directories of mode 0700, but for the browser’s program and the way to it', () => {
  const found = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter(
    (file) => !/^(?:chromium|browsers)(?:\/|$)/.test(file),
  )
  const wrong = [...found, '.'].flatMap((file) => {
    const stat = lstatSync(path.join(dataDir, file), { throwIfNoEntry: false })
    // A socket is reached only through the directory that it stands in.
    if (stat === undefined || stat.isSymbolicLink() || stat.isSocket()) return []
    const mode = (stat.mode & 0o7777).toString(8)
    // Who runs as another user passes through the data directory itself, and lists nothing of it.
    const wanted = file === '.' ? ['711', '700'] : [stat.isDirectory() ? '700' : '600']
    return wanted.includes(mode) ? [] : [`${file} ${mode}`]
  })
  assert.deepEqual(wrong, [])
  assert(found.length > 100)
})
