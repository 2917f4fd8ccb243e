import assert from 'node:assert/strict'
import type http from 'node:http'
import https from 'node:https'
import { after, beforeEach, describe, it } from 'node:test'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { checkTokenOf } from '@prepaint/contract/page/check-token.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createListener } from '@prepaint/postgres/listener.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { until } from '../../../../test/support/condition.ts'
import { insertDomain, testDatabase } from '../../../../test/support/database.ts'
import { listening, serve } from '../../../../test/support/loopback.ts'
import { checkIntegration } from './check-integration.ts'
import { FrontEvidence } from './evidence.ts'
import { readIntegration } from './read-integration.ts'
import { removeOldFronts } from './retention.ts'

const database = await testDatabase()
const { pool } = database
const clock = { atMs: Date.now(), nowMs: () => clock.atMs }
const listener = await createListener(database.connection, silentLog())
const evidence = new FrontEvidence(pool, pool, listener, clock, silentLog())
after(async () => {
  await evidence.close()
  await listener.close()
  await database.close()
})

const [account] = await database.column<AccountId>(
  `insert into account (email, plan) values ('red@example.com', 'starter') returning id`,
)
const [other] = await database.column<AccountId>(
  `insert into account (email, plan) values ('blue@example.com', 'starter') returning id`,
)
const name = 'red.example.com' as DomainName
const red: { id: DomainId; name: DomainName } = {
  id: await insertDomain(pool, name, { account: account! }),
  name,
}

beforeEach(async () => {
  clock.atMs = Date.now()
  for (const table of ['way', 'visits', 'refusal', 'check', 'result']) {
    await pool.query(`delete from integration_${table}`)
  }
})

const read = () => readIntegration(pool, red, clock.nowMs())
const visit = (way: 'proxy' | 'middleware', headers: http.IncomingHttpHeaders = {}, path = '/a') =>
  evidence.noteVisit({ domain: red.id, way, crawler: 'Googlebot', path, headers })

describe('the ways by which crawlers come', () => {
  it('none is known before the first crawler', async () => {
    const none = { state: 'not_seen', ways: { proxy: null, middleware: null }, refused: null, check: null }
    assert.deepEqual(await read(), { domain: name, ...none })
  })

  // Proves decided "Way of crawlers"
  it('the newest request of the last seven days says the state, and older ways stay listed', async () => {
    const firstMs = clock.atMs
    visit('proxy')
    const seen = async (state: string) => (await read()).state === state
    await until('the first way is shown', () => seen('proxy'))
    clock.atMs += 1_000
    visit('middleware', { 'x-prerender-int-type': 'Express', 'x-prerender-int-version': '1.2.3' }, '/b')
    await until('the second way is shown', () => seen('middleware'))
    const { ways } = await read()
    assert.equal(ways.proxy?.first_at, new Date(firstMs).toISOString())
    const { last_at, visits_24h, crawler, path, int_type, int_version } = ways.middleware!
    assert.deepEqual(
      [last_at, visits_24h, crawler, path, int_type, int_version],
      [new Date(firstMs + 1_000).toISOString(), 1, 'Googlebot', '/b', 'Express', '1.2.3'],
    )
    clock.atMs += 7 * 86_400_000 - 1_000
    assert.equal((await read()).state, 'middleware')
    clock.atMs += 1_000
    const later = await read()
    assert.deepEqual([later.state, later.ways.middleware?.path], ['not_seen', '/b'])
    assert.equal(later.ways.middleware?.visits_24h, 0)
  })

  it('texts of a front that are longer than 64 characters or not printable ASCII are not kept', async () => {
    const typeOf = async (text: string) => {
      await pool.query('delete from integration_way')
      visit('proxy', { 'x-prerender-int-type': text })
      const way = await until('it is shown', async () => (await read()).ways.proxy)
      return way.int_type
    }
    assert.equal(await typeOf('x'.repeat(64)), 'x'.repeat(64))
    assert.equal(await typeOf('x'.repeat(65)), null)
    assert.equal(await typeOf('é'), null)
  })

  it('visits are counted over writes, by way', async () => {
    for (let at = 0; at < 3; at++) visit('proxy')
    await evidence.close()
    visit('proxy')
    await evidence.close()
    assert.equal((await read()).ways.proxy?.visits_24h, 4)
  })
})

describe('refused fronts', () => {
  const refuse = (of: AccountId, reason = 'plan-without-api-access') =>
    evidence.noteRefusal({ account: of, name, reason })

  // Proves decided "Way of crawlers"
  it('are counted for the last 24 hours, with the newest reason', async () => {
    refuse(account!)
    refuse(account!)
    await evidence.close()
    clock.atMs += 1_000
    refuse(account!, 'invalid-x-prerender-token-provided')
    await evidence.close()
    const last_at = new Date(clock.atMs).toISOString()
    const reason = 'invalid-x-prerender-token-provided'
    assert.deepEqual((await read()).refused, { reason, count: 3, last_at })
    clock.atMs += 86_400_000
    assert.equal((await read()).refused, null)
  })

  it("with a key of another account tell nothing to the domain's owner", async () => {
    refuse(other!)
    await evidence.close()
    assert.equal((await read()).refused, null)
  })
})

describe('a check of an installation', async () => {
  const guard = createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }])
  const lookup = async () => ['93.184.216.34']
  const check = (via: string | null, path = '/a?b=1') =>
    checkIntegration(pool, guard, red, { path, via }, clock.nowMs(), lookup)
  const seenBySite: string[] = []
  let answer: (req: http.IncomingMessage, res: http.ServerResponse, token: string) => unknown
  const site = await serve((req, res) => {
    seenBySite.push(`${req.headers.host} ${req.url}`)
    void answer(req, res, checkTokenOf(req.url ?? '') ?? '')
  })
  after(() => site.close())
  const receive = (token: string, req: http.IncomingMessage, way: 'proxy' | 'middleware' = 'middleware') =>
    evidence.receiveCheck(token, { domain: red.id, way, path: '/a', headers: req.headers })

  // Proves decided "Check of an installation"
  it('that arrives and whose answer comes back names the way, and is evidence at once', async () => {
    answer = async (req, res, token) => res.end(`<p>${await receive(token, req)}</p>`)
    const { checked_at, ms, ...found } = await check(site.url)
    assert.deepEqual(found, {
      ...{ state: 'middleware', reason: null, detail: null, url: `https://${name}/a?b=1`, via: site.url },
      ...{ status: 200, int_type: null, int_version: null },
    })
    assert.match(seenBySite.at(-1)!, /^red\.example\.com \/a\?b=1&prepaint_check=[\w-]{32}$/)
    const shown = await read()
    assert.deepEqual([shown.state, shown.check], ['middleware', { ...found, checked_at, ms }])
    assert.equal((await database.column('select 1 from integration_check')).length, 0)
  })

  it('whose answer does not come back is lost; one that does not arrive was not forwarded', async () => {
    answer = async (req, res, token) => {
      await receive(token, req, 'proxy')
      res.end('something else')
    }
    const lost = await check(site.url)
    assert.deepEqual([lost.state, lost.reason], ['proxy', 'answer-lost'])
    answer = (_req, res) => res.end('the app')
    const none = await check(site.url)
    assert.deepEqual([none.state, none.reason, none.status], ['not_seen', 'not-forwarded', 200])
  })

  it('that is refused for a key of the same account says why, and says nothing for one of another account', async () => {
    let of = account!
    answer = async (_req, res, token) => {
      await evidence.refuseCheck(token, { account: of, name, reason: 'invalid-x-prerender-token-provided' })
      res.end('the app')
    }
    const refused = await check(site.url)
    assert.deepEqual([refused.reason, refused.detail], ['refused', 'invalid-x-prerender-token-provided'])
    of = other!
    assert.equal((await check(site.url)).reason, 'not-forwarded')
  })

  // Proves decided "Check of an installation"
  it('follows three redirects within the domain, and names the place of a fourth or of another site', async () => {
    let left = 3
    answer = async (req, res, token) => {
      if (left-- > 0) res.writeHead(302, { location: `/step-${left}` }).end()
      else res.end(await receive(token, req))
    }
    assert.equal((await check(site.url)).reason, null)
    left = 4
    const fourth = await check(site.url)
    assert.deepEqual([fourth.reason, fourth.detail, fourth.status], ['redirect', '/step-0', 302])
    answer = (_req, res) => res.writeHead(301, { location: 'https://www.example.org/' }).end()
    const away = await check(site.url)
    assert.deepEqual([away.reason, away.detail], ['redirect', 'https://www.example.org/'])
  })

  it('sends a path as clients spell it, with its token last', async () => {
    answer = (_req, res) => res.end()
    const spelled = async (path: string) => {
      const { url } = await check(site.url, path)
      assert.equal(
        seenBySite.at(-1)!.replace(/[?&]prepaint_check=.*/, ''),
        url.replace('https://', '').replace('/', ' /'),
      )
      return url.replace(`https://${name}`, '')
    }
    assert.equal(await spelled('/a b?c=ä d'), '/a%20b?c=%C3%A4%20d')
    assert.equal(await spelled('/a%2Fb/c+d?e=f%20g+h'), '/a%2Fb/c+d?e=f%20g+h')
    assert.equal(await spelled('/a#b'), '/a')
    assert.equal(await spelled('//other.example/a'), '//other.example/a')
  })

  it('of a site whose certificate is not good for its name names the fault of TLS', async (t) => {
    const { privateKey, certificate } = createSelfSigned(name)
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const secure = https.createServer({ key, cert: certificate }, (_req, res) => res.end())
    t.after(() => secure.close().closeAllConnections())
    const found = await check(`https://127.0.0.1:${await listening(secure)}`)
    assert.deepEqual([found.state, found.reason, found.status], ['not_seen', 'tls', null])
    assert.match(found.detail!, /^[A-Z_]+$/)
  })

  it('names why a site cannot be asked', async () => {
    const reasonOf = async (via: string) => (await check(via)).reason
    assert.equal(await reasonOf('http://127.0.0.1:1'), 'unreachable')
    assert.equal(await reasonOf('http://10.0.0.1'), 'refused-address')
    const none = async () => []
    const unresolvable = await checkIntegration(pool, guard, red, { path: '/', via: null }, 0, none)
    assert.equal(unresolvable.reason, 'unresolvable')
  })

  it('has a token for its own domain and for a minute only', async () => {
    const blue = await insertDomain(pool, 'blue.example.com', { account: other! })
    let received: (string | null)[] = []
    answer = async (req, res, token) => {
      received = [await evidence.receiveCheck(token, { domain: blue, way: 'proxy', path: '/', headers: {} })]
      await pool.query('update integration_check set expires_at = now()')
      received.push(await receive(token, req))
      res.end()
    }
    assert.equal((await check(site.url)).reason, 'not-forwarded')
    assert.deepEqual(received, [null, null])
  })
})

it('old figures and tokens of fronts are removed, newer ones stay', async () => {
  await pool.query(
    `insert into integration_visits select $1, 'proxy', now() - h * interval '1 hour', 1 from unnest(array[1, 49]) h`,
    [red.id],
  )
  await pool.query(
    `insert into site_token (account_id, token_hash, created_at, created_by, ends_at)
     select $1, int4send(d), now(), 'a', now() - d * interval '1 day' from unnest(array[89, 91]) d`,
    [account],
  )
  assert.equal(await removeOldFronts(pool), 2)
  assert.equal((await database.column('select 1 from site_token')).length, 1)
})
