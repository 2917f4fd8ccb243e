/** A whole node at its most talkative, while secrets of every kind go through it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { after, it } from 'node:test'
import { runJson } from '../support/command-line.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { request } from '../support/edge.ts'
import { serve } from '../support/loopback.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { callApi, registerDomain } from '../support/tenant.ts'

const PASSWORD = 'correct-horse-battery-staple-4711'
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
const origin = await serve((request, response) => {
  heard.push(request.headers['x-origin'])
  response.setHeader('set-cookie', `secret=${QUERY_SECRET}`)
  response.setHeader('content-type', 'text/html').end('<!doctype html><p>page</p>')
})
const node = await startNodeProcess(dataDir, { PREPAINT_LOG_LEVEL: 'trace' })
after(async () => {
  await node.stop()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

async function run(...args: string[]): Promise<Record<string, unknown>> {
  const { code, json } = await runJson(args, node.settings)
  assert.equal(code, 0, JSON.stringify(json))
  return json
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
  const visitors = [HEADER_SECRET, PROXY_SECRET, COOKIE, QUERY_SECRET, LINK_SECRET, BODY_SECRET]
  for (const secret of [key, wrong, token, PASSWORD, ORIGIN_SECRET, ...visitors]) {
    // Nor most of it.
    assert(!log.includes(secret.slice(8)), `${secret.slice(0, 12)}... is in the log`)
  }
})

/** Names of files under the data directory that hold these bytes, the write-ahead log too; empty: none. */
function filesWith(text: string): string {
  const grep = 'grep -rlaF --exclude-dir=chromium -e "$2" "$1" || true'
  return execFileSync('/bin/sh', ['-c', grep, 'sh', dataDir, text], { encoding: 'utf8' })
}

it('neither key, token nor password is stored in clear', () => {
  for (const secret of [key, token, PASSWORD, ORIGIN_SECRET]) {
    assert.notEqual(secret, '')
    assert.equal(filesWith(secret), '')
  }
  // The other half: what is stored in clear is found.
  assert.notEqual(filesWith('a@b.example'), '')
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
