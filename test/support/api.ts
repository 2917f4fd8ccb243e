import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { cookieName } from '@prepaint/api/http/session-access.ts'
import { createApiServer } from '@prepaint/api/server.ts'
import type { Readiness } from '@prepaint/api/service/health.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { checkOriginUrl, createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createAccount } from '@prepaint/service/accounts/accounts.ts'
import { createKey } from '@prepaint/service/accounts/keys.ts'
import { findContact } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { SingleSignOn, type SsoSettings } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import { parseMasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { Events, type EventTimes } from '@prepaint/service/insight/events/events.ts'
import type { StreamLimits } from '@prepaint/service/insight/events/streams.ts'
import { checkEndpointUrl } from '@prepaint/service/notifications/delivery/endpoint-url.ts'
import { SelectorCheck } from '@prepaint/service/sites/checked-rules.ts'
import { createDomain } from '@prepaint/service/sites/domain-changes.ts'
import { DomainProofs, type LookForProof } from '@prepaint/service/sites/proof/domain-proofs.ts'
import { CHECK_RATE, Checks } from '@prepaint/service/sites/reachability/checks.ts'
import { publishAnswer } from '@prepaint/service/sites/reachability/published-answer.ts'
import ipaddr from 'ipaddr.js'
import type pg from 'pg'
import type { PageIntegrations } from '../../packages/api/src/fronts/integration.ts'
import type { ApiOptions, ApiParts } from '../../packages/api/src/http/app.ts'
import { readContract, readDocument } from './api-contract.ts'
import { standInParts, TEST_OPTIONS } from './api-parts.ts'
import { testDatabase } from './database.ts'

// The whole API on loopback over its own database. Checks every response against the OpenAPI document.

export type TestAnswer = { status: number; headers: Headers; body: Record<string, unknown>; text: string }

export type TestRequest = {
  key?: string | undefined
  token?: string | undefined
  cookie?: string | undefined
  body?: unknown
  headers?: Record<string, string>
}

/** CSV, or the bytes of a picture. */
function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array
}

export type TestAccount = { id: AccountId; email: string; key: string }

export type TestApi = Awaited<ReturnType<typeof startTestApi>>

/** The start of the tests' clock: in the middle of a month, a day and an hour. */
export const TEST_START_MS = Date.parse('2026-11-15T12:30:00.000Z')

const sendTestPage: PageIntegrations['answer'] = async (_req, res, { url, userAgent }) => {
  res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'X-Prepaint': 'hit' })
  res.end(`<p>${url.scheme} ${url.host} ${url.path} for ${userAgent}</p>`)
}
export const testIntegrations: PageIntegrations = { answer: sendTestPage, offer: sendTestPage }

export function testVault(pool: pg.Pool): Vault {
  const keys = parseMasterKeys(Buffer.alloc(32, 7).toString('base64'))
  return new Vault(pool, '/nowhere', keys)
}

type Given = {
  /** Default: a grammar decides about selectors, without a browser. */
  selectors?: ApiParts['selectors']
  mailer?: ApiParts['mailer']
  /** What a look for the proof of a name finds; default: nothing, and the name has no address. */
  lookForProof?: LookForProof
  sso?: SsoSettings
  plans?: ApiOptions['plans']
  clients?: ApiOptions['clients']
  dashboardDir?: string
  publicUrl?: string
}

/** `events`: for event streams; absent: none, and no connection listens. */
export async function startTestApi({
  events: eventLimits,
  selectors = new SelectorCheck(null, silentLog()),
  mailer = null,
  lookForProof,
  sso,
  plans = DEFAULT_PLANS,
  clients = TEST_OPTIONS.clients,
  dashboardDir,
  publicUrl,
}: Given & { events?: { limits?: StreamLimits; times?: EventTimes } } = {}) {
  const database = await testDatabase()
  const { pool } = database
  const clock = { atMs: TEST_START_MS, nowMs: () => clock.atMs }
  /** `held` delays the readiness check. */
  const readiness: { found: Readiness; asked: number; held: Promise<void> | null } = {
    asked: 0,
    held: null,
    found: { ready: true, state: 'serving', database: 'ok', browser: 'none' },
  }
  const guard = createAddressGuard([])
  const names: Record<string, string[]> = {
    'internal.attacker.com': ['10.0.0.7'],
    'mixed.attacker.com': ['93.184.216.34', '127.0.0.1'],
  }
  const lookup = async (name: string) => names[name] ?? ['93.184.216.34']

  const listener = eventLimits && (await createListener(database.connection, silentLog()))
  const events = listener && new Events(pool, listener, clock, silentLog(), { plans, ...eventLimits })
  await listener?.settled()

  // Only origins on loopback can be reached.
  const origins = createClient(createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]), {
    lookup: async () => ['127.0.0.1'],
  })
  const get = { origins, userAgent: 'Prepaint' }

  const parts: ApiParts = {
    ...standInParts(pool, clock),
    selectors,
    mailer,
    singleSignOn: sso === undefined ? null : new SingleSignOn(sso, publicUrl ?? '', clock, silentLog()),
    checks: new Checks(clock, (account) => CHECK_RATE.take(pool, `account ${account}`), {
      checkDns: async (account, name) =>
        (await publishAnswer(pool, account, name)) === null
          ? null
          : { state: 'elsewhere', addresses: ['93.184.216.34'], aliases: [], records: ['93.184.216.34'] },
      tryOrigin: async () => ({ status: 200, problem: null }),
    }),
    integrations: testIntegrations,
    checkIntegration: async ({ name }, { path, via }) => ({
      ...{ state: 'proxy', reason: null, detail: null, url: `https://${name}${path}`, via },
      ...{ status: 200, int_type: null, int_version: null, ms: 1 },
      checked_at: new Date(clock.nowMs()).toISOString(),
    }),
    robots: new RobotsFiles(pool, pool, get, null, clock, silentLog()),
    vault: testVault(pool),
    checkReadiness: async () => {
      readiness.asked++
      await readiness.held
      return readiness.found
    },
    checkEndpoint: (raw) => checkEndpointUrl(raw, guard, lookup),
    checkOrigin: (raw) => checkOriginUrl(raw, guard, { lookup, timeoutMs: 1_000 }),
  }
  if (lookForProof !== undefined) {
    parts.proofs = new DomainProofs(pool, clock, lookForProof, 1)
  }
  if (events !== undefined) parts.subscribe = (...stream) => events.subscribe(...stream)
  const options: ApiOptions = {
    ...TEST_OPTIONS,
    plans,
    clients,
    publicUrl: publicUrl ?? null,
    contact: 'render@example.com',
    egressAddresses: ['203.0.113.5', '2001:db8::/48'],
    dashboardDir,
  }
  const app = await createApiServer(parts, options)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const contract = readContract(await readDocument(url))
  let accounts = 0

  async function call(method: string, path: string, request: TestRequest = {}): Promise<TestAnswer> {
    const headers: Record<string, string> = {}
    if (request.key !== undefined) headers['x-api-key'] = request.key
    if (request.token !== undefined) headers['authorization'] = `Bearer ${request.token}`
    if (request.cookie !== undefined) {
      headers['cookie'] = request.cookie
      headers['sec-fetch-site'] = 'same-origin'
    }
    if (request.body !== undefined) headers['content-type'] = 'application/json'
    const response = await fetch(url + path, {
      method,
      headers: { ...headers, ...request.headers },
      body: isRaw(request.body) ? request.body : (JSON.stringify(request.body) ?? null),
      redirect: 'manual',
    })
    const text = await response.text()
    const type = response.headers.get('content-type')
    const isJson = text !== '' && type?.startsWith('application/json') === true
    const body = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
    contract.check({ method, path, status: response.status, type, text })
    return { status: response.status, headers: response.headers, body, text }
  }

  return {
    app,
    parts,
    options,
    events,
    url,
    pool,
    database,
    clock,
    readiness,
    contract,
    call,
    get: (path: string, key?: string) => call('GET', path, { key }),
    post: (path: string, key: string | undefined, body?: unknown) => call('POST', path, { key, body }),

    async account(plan = 'agency_plus'): Promise<TestAccount> {
      const email = `owner-${++accounts}@example.com`
      const { id } = await createAccount(pool, plans, { email, plan, password: null })
      const named = { name: 'test', expiresAt: null }
      const { key } = await createKey(pool, id, named, { plans, nowMs: clock.nowMs() })
      return { id, email, key }
    },

    /** The cookie of a session of the account's owner. */
    async session({ id }: { id: AccountId }): Promise<string> {
      const client = { address: '127.0.0.1', userAgent: 'test' }
      const owner = await findContact(pool, id)
      const started = await startSession(pool, owner.id, client, clock.nowMs())
      assert(started !== null)
      return `${cookieName(options.publicUrl)}=${started.token}`
    },

    /** Inserts a domain without HTTP. */
    async domain(account: TestAccount, name: string): Promise<{ id: DomainId; name: DomainName }> {
      const parsed = parseDomainName(name)
      assert(parsed.ok)
      const input = { name: parsed.name, originUrl: 'https://origin.example.com' }
      const { id } = await createDomain(pool, account.id, input, { plans, nowMs: clock.nowMs() })
      return { id, name: parsed.name }
    },

    async close(): Promise<void> {
      events?.close()
      await app.close()
      await listener?.close()
      await database.close()
    },
  }
}

/** As `startTestApi`, for all tests of a file. */
export async function openApi(options?: Parameters<typeof startTestApi>[0]): Promise<TestApi> {
  const api = await startTestApi(options)
  after(() => api.close())
  return api
}

/** Checks the status and the whole body. Of an error its text is enough, or a pattern that it matches. */
export function assertAnswer(
  { status, body, text }: TestAnswer,
  wanted: number,
  said: string | RegExp | Record<string, unknown>,
): void {
  assert.equal(status, wanted, text.slice(0, 500))
  if (said instanceof RegExp) assert.match(String(body['error']), said)
  else if (typeof said === 'string') assert.deepEqual(withoutProblems(body), { error: said })
  else assert.deepEqual(body, said)
}

/** Tests that are about a text do not repeat where the problem is. */
function withoutProblems({ problems: _, ...body }: Record<string, unknown>): Record<string, unknown> {
  return body
}

/** One field of each entry of a list in a body. */
export function valuesOf(list: unknown, field: string): unknown[] {
  return (list as Record<string, unknown>[]).map((entry) => entry[field])
}

export function cookieOf(lines: readonly string[]): string {
  return lines.map((line) => line.split(';', 1)[0]).join('; ')
}

export async function storePages(api: TestApi, domain: DomainId, paths: readonly string[]): Promise<void> {
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select $1, path, 200, '[]', $3, 1, 'e', now() from unnest($2::text[]) as path`,
    [domain, paths, brotliCompressSync('x')],
  )
}

export async function storeRedirectAndSitemap(api: TestApi, domain: DomainId): Promise<void> {
  await api.pool.query(
    `insert into redirect (domain_id, path, status, location, stored_at) values ($1, '/old', 301, '/new', now())`,
    [domain],
  )
  await api.pool.query(
    `insert into sitemap (domain_id, path, headers, body, fetched_at) values ($1, '/sitemap.xml', '{}', '\\x00', now())`,
    [domain],
  )
}
