import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type http from 'node:http'
import path from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { checkTokenOf } from '@prepaint/contract/page/check-token.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { FrontEvidence } from '@prepaint/service/fronts/evidence.ts'
import { testCommands } from '../../test/support/commands.ts'
import { testDatabase } from '../../test/support/database.ts'
import { serve } from '../../test/support/loopback.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import { runCommandLine } from '../command-line/run.ts'

const database = await testDatabase()
const { pool } = database
const listener = await createListener(database.connection, silentLog())
const evidence = new FrontEvidence(pool, pool, listener, systemClock, silentLog())
after(async () => {
  await evidence.close()
  await listener.close()
  await database.close()
})
const domain = await addTestDomain(pool, 'shop.example.com')
const settings = { DATABASE_URL: database.url, PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32' }
const { good, printed, refused, run, wrong } = testCommands(settings)
const AT = '--domain shop.example.com'

/** The site, which sends the request on to Prepaint or answers it itself. */
let isForwarded = true
const asked: string[] = []
const site = await serve(async (req: http.IncomingMessage, res: http.ServerResponse) => {
  asked.push(`${req.headers.host} ${req.url?.replace(/prepaint_check=.*/, '')}`)
  const token = checkTokenOf(req.url ?? '') ?? ''
  const headers = { 'x-prerender-int-type': 'nginx', 'x-prerender-int-version': '1.22.1' }
  const arrival = { domain, way: 'middleware', path: '/', headers } as const
  res.end(isForwarded ? await evidence.receiveCheck(token, arrival) : 'the app')
})
after(() => site.close())
beforeEach(() => {
  isForwarded = true
  asked.length = 0
})

describe('integration check', () => {
  it('prints the check as JSON, and ends with status 0 for a request that arrived', async () => {
    const { check } = (await good(`integration check ${AT} --via ${site.url}`)) as {
      check: Record<string, unknown>
    }
    const { ms, checked_at, ...found } = check
    assert.deepEqual(found, {
      ...{ state: 'middleware', reason: null, detail: null, url: 'https://shop.example.com/' },
      ...{ via: site.url, status: 200, int_type: 'nginx', int_version: '1.22.1' },
    })
    assert.deepEqual([typeof ms, Number.isNaN(Date.parse(String(checked_at)))], ['number', false])
    assert.deepEqual(asked, ['shop.example.com /?'])
    assert.match(await printed(`integration check ${AT} --via ${site.url}`), /^middleware$/m)
  })

  it('asks for the path that is named', async () => {
    await good(`integration check ${AT} --via ${site.url} --path /a?b=1`)
    assert.deepEqual(asked, ['shop.example.com /a?b=1&'])
    await wrong(`integration check ${AT} --path a`, /--path must begin with \//)
  })

  it('ends with status 1 for a request that did not arrive, and says why', async () => {
    isForwarded = false
    const { code, json, text } = await run(`integration check ${AT} --via ${site.url}`)
    const { state, reason } = json['check'] as Record<string, unknown>
    assert.deepEqual([code, state, reason], [1, 'not_seen', 'not-forwarded'])
    assert.match(text, /^not_seen: the site answered itself/)
  })

  it('refuses an address that is not public, and a domain that is not there', async () => {
    await refused(`integration check ${AT} --via http://10.0.0.1`, /^Invalid via URL: /)
    await refused('integration check --domain nobody.example.com', /^Domain not found$/)
  })
})

describe('integration show', () => {
  it('prints the body of the route: way, evidence, and the newest check', async () => {
    await good(`integration check ${AT} --via ${site.url}`)
    const shown = await good(`integration show ${AT}`)
    assert.deepEqual(Object.keys(shown), ['domain', 'state', 'ways', 'refused', 'check'])
    const { proxy, middleware } = shown['ways'] as Record<string, Record<string, unknown> | null>
    assert.deepEqual([shown['state'], proxy, middleware?.['int_type']], ['middleware', null, 'nginx'])
    const text = await printed(`integration show ${AT}`)
    assert.match(text, /state +middleware\n.*proxy +never seen\n.*from nginx 1\.22\.1/s)
    assert.match(text, /last check +\S+: middleware/)
  })
})

describe('site-token', () => {
  it('create prints the token once, show and revoke print the bodies of the routes', async () => {
    assert.deepEqual(await good(`site-token show ${AT}`), { site_token: null })
    const made = await good(`site-token create ${AT}`)
    assert.deepEqual(Object.keys(made), ['domain', 'token'])
    // 190 bits are 32 characters of base64url.
    assert.match(String(made['token']), /^pp_site_[\w-]{32,}$/)
    const { site_token: shown } = await good(`site-token show ${AT}`)
    const { created_at, ...others } = shown as Record<string, unknown>
    assert.equal(Number.isNaN(Date.parse(String(created_at))), false)
    assert.deepEqual(others, { last_used_at: null, replaces_until: null, created_by: 'command line' })
    await good(`site-token create ${AT}`)
    assert.match(await printed(`site-token show ${AT}`), /token before +valid until 2/)
    assert.deepEqual(await good(`site-token revoke ${AT}`), { deleted: { domain: 'shop.example.com' } })
    assert.deepEqual(await good(`site-token show ${AT}`), { site_token: null })
    await refused('site-token create --domain nobody.example.com', /^Domain not found$/)
  })
})

it('the commands with which each guide begins lead to a domain with a site token, whose crawlers come by a front', async () => {
  await good('account create --email you@example.com --plan agency')
  const guide = readFileSync(path.resolve(import.meta.dirname, '../../docs/integrations/nginx.md'), 'utf8')
  const commands = guide.match(/^prepaint (domain|site-token) .*$/gm) ?? []
  assert.equal(commands.length, 3)
  for (const command of commands) {
    const words = command.replace(/ +#.*/, '').match(/'[^']*'|\S+/g) ?? []
    const args = words.slice(1).map((word) => word.replaceAll("'", ''))
    // The name of the origin is nobody's.
    const origin = args.indexOf('https://origin.example.com')
    if (origin !== -1) args[origin] = site.url
    const result = await runCommandLine([...args, '--json'], settings)
    assert.equal(result?.exitCode ?? 0, 0, JSON.stringify(result?.json))
  }
  const { domain: made } = await good('domain show --domain www.example.com')
  const { settings: stored } = made as { settings: Record<string, unknown> }
  assert.equal(stored['way'], 'middleware')
  const { site_token } = await good('site-token show --domain www.example.com')
  assert.notEqual(site_token, null)
})
