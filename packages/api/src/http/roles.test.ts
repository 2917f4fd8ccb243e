import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { DomainId, PersonId } from '@prepaint/contract/ids.ts'
import {
  ACTIONS,
  actionRow,
  hasRole,
  isAction,
  LIMITED_ROLES,
  mayShare,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
} from '@prepaint/contract/roles.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { SHARE_PARTS, type SharePart } from '@prepaint/contract/share-parts.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { addMember, findMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { testEndpoint } from '@prepaint/service/notifications/delivery/deliveries.ts'
import { createEndpoint } from '@prepaint/service/notifications/delivery/endpoints.ts'
import Fastify from 'fastify'
import {
  openApi,
  storePages,
  type TestAccount,
  type TestAnswer,
  type TestRequest,
} from '../../../../test/support/api.ts'
import type { Operation } from '../../../../test/support/api-contract.ts'
import { type ExampleIds, exampleRequest, NOTHING } from '../../../../test/support/example-request.ts'
import { guardRoutes } from './access.ts'
import type { ApiApp } from './app.ts'

/** Routes of whoever is signed in, about their own login. They are no actions of an account. */
const OF_PERSONS = [
  ...['getSession', 'signOut', 'listEnteredAccounts', 'chooseAccount', 'getPerson', 'changePerson'],
  ...['listSessions', 'endSession', 'signOutEverywhere', 'changePassword', 'deletePerson'],
  ...['confirmSession', 'getSecondFactor', 'startTotp', 'confirmTotp', 'removeTotp', 'renewRecoveryCodes'],
  ...['startPasskey', 'addPasskey', 'renamePasskey', 'removePasskey', 'changeEmail'],
]

const api = await openApi()
const account = await api.account('enterprise')
const stranger = await api.account('enterprise')
const own = await api.domain(account, 'own.example.com')
const beyond = await api.domain(account, 'beyond.example.com')
const foreign = await api.domain(stranger, 'foreign.example.com')
for (const { id } of [own, beyond, foreign]) await storePages(api, id, ['/', '/amber-1'])

type Member = { role: Role; isLimited: boolean; person: PersonId; cookie: string }

async function member(role: Role, isLimited: boolean): Promise<Member> {
  const email = `${role}-${isLimited ? 'limited' : 'whole'}@example.com`
  const person = await addPerson(api.pool, { email, password: null })
  await join(person, role, isLimited)
  const started = await startSession(api.pool, person, { address: '', userAgent: '' }, api.clock.nowMs())
  return { role, isLimited, person, cookie: `prepaint-session=${started!.token}` }
}

const join = (person: PersonId, role: Role, isLimited: boolean) =>
  addMember(api.pool, account.id, person, { role, domains: isLimited ? [own.id] : null })

const members: Member[] = []
for (const role of ROLES) {
  if (role !== 'client') members.push(await member(role, false))
  if (LIMITED_ROLES.includes(role)) members.push(await member(role, true))
}

type TestDomain = { id: DomainId; name: string }

/** Makes something by its route, and returns what the answer has under this name. */
async function madeBy<T>(cookie: string, path: string, body: object, shown: string): Promise<T> {
  const answer = await api.call('POST', path, { cookie, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body[shown] as T
}

/** Something of every kind that is a domain's. Other ids are those of nothing. */
async function idsOfDomain(by: TestAccount, { id, name }: TestDomain): Promise<ExampleIds> {
  const cookie = await api.session(by)
  const inserted = async <T>(sql: string) => (await api.database.column<T>(sql, id))[0]!
  const [job] = await enqueue(api.pool, id, ['/job' as never], 'refresh')
  const share = { name: 'shown', domains: [name] }
  return {
    ...NOTHING,
    jobId: job!.jobId,
    inspectionId: await inserted<string>(
      `insert into inspection (domain_id, path, state) values ($1, '/inspected', 'queued') returning id`,
    ),
    tryId: await inserted<string>(
      `insert into rule_try (id, place, domain_id, job_id, tried)
       values (gen_random_uuid(), 0, $1, gen_random_uuid(), '{}') returning id`,
    ),
    versions: await inserted<number>(
      `insert into site_version (domain_id, kind, content, author) values ($1, 'redirects', '[]', 'x') returning id`,
    ),
    tokens: await madeBy<number>(cookie, `/api/domains/${name}/tokens`, { name: 'deploy' }, 'id'),
    links: (await madeBy<{ id: number }>(cookie, '/api/share-links', share, 'share_link')).id,
  }
}

/** Something of every kind that is an account's, beside what is its domain's. */
async function idsOfAccount(by: TestAccount, domain: TestDomain): Promise<ExampleIds> {
  const cookie = await api.session(by)
  const member = async (email: string) => {
    const person = await addPerson(api.pool, { email, password: null })
    await addMember(api.pool, by.id, person, { role: 'admin', domains: null })
    return findMember(api.pool, by.id, email)
  }
  const url = 'https://hooks.example.com/'
  const { id: endpoints } = await createEndpoint(api.pool, api.parts.vault, by.id, { url })
  const template = { name: 'shops', settings: { cards: 'on' } }
  const invited = { email: 'guest@elsewhere.example', role: 'viewer' }
  return {
    ...(await idsOfDomain(by, domain)),
    endpoints,
    deliveries: (await testEndpoint(api.pool, by.id, endpoints)).id,
    keys: await madeBy<number>(cookie, '/api/keys', { name: 'spare' }, 'id'),
    templates: (await madeBy<{ id: number }>(cookie, '/api/templates', template, 'template')).id,
    invitations: (await madeBy<{ id: number }>(cookie, '/api/invitations', invited, 'invitation')).id,
    members: await member('member@elsewhere.example'),
    heir: await member('heir@elsewhere.example'),
  }
}

const foreignIds = await idsOfAccount(stranger, foreign)
const beyondIds = await idsOfDomain(account, beyond)

function usesIds({ url, body }: Operation): boolean {
  return /\{(id|\w+Id)\}/.test(url) || 'member_id' in (body?.properties ?? {})
}

/** An id of another account, and one that is out of reach, is answered as one that never was. */
async function knowsNoOther(operation: Operation, by: TestRequest, isLimited: boolean): Promise<void> {
  if (!usesIds(operation)) return
  const ask = (ids: ExampleIds) => {
    const { path, ...sent } = exampleRequest(operation, { domain: own.name, newName: 'x.example.com', ids })
    return api.call(operation.method, path, { ...by, ...sent })
  }
  const nothing = await ask(NOTHING)
  const others = { 'another account': foreignIds }
  const isOfDomain = operation.url.includes('{domain}')
  const all = isLimited || isOfDomain ? { ...others, 'another domain': beyondIds } : others
  for (const [whose, ids] of Object.entries(all)) {
    const answer = await ask(ids)
    const what = `${operation.method} ${operation.url} with an id of ${whose}`
    assert.deepEqual([answer.status, answer.body], [nothing.status, nothing.body], what)
    assert(answer.status >= 400, `${what}: ${answer.text}`)
  }
}

/** What the requests of others must not have changed. */
const untouched = () =>
  api.database.column<string>(
    `select t::text from (
       select 'token' as what, id::text, revoked_at::text as state from webhook_token where id = any ($1)
       union all select 'key', id::text, revoked_at::text from api_key where id = $2
       union all select 'link', id::text, name from share_link where id = any ($3)
       union all select 'job', id::text, state::text from job where id = any ($4)
       union all select 'member', id::text, role from member where id = any ($5)
       union all select 'invitation', id::text, email from invitation where id = $6
       union all select 'endpoint', id::text, address from channel where id = $7
       union all select 'template', id::text, name from settings_template where id = $8) t order by 1`,
    [foreignIds.tokens, beyondIds.tokens],
    foreignIds.keys,
    [foreignIds.links, beyondIds.links],
    [foreignIds.jobId, beyondIds.jobId],
    [foreignIds.members, foreignIds.heir],
    foreignIds.invitations,
    foreignIds.endpoints,
    foreignIds.templates,
  )

/** Event streams do not end: events.test.ts is about them. */
const actions = api.contract.operations.filter(
  ({ operationId }) => isAction(operationId) && operationId !== 'followEvents',
)

function isAboutDomain({ url, body }: Operation): boolean {
  return url.includes('{domain}') || 'domain' in (body?.properties ?? {})
}

it('every route that a session or key opens is an action with a row, or is about the own login, or an operator’s', () => {
  const opened = api.contract.operations.filter(
    ({ securities, url }) =>
      !url.startsWith('/api/operator/') && securities.some((by) => by === 'Session' || by === 'ApiKey'),
  )
  const named = opened.map(({ operationId }) => operationId)
  // Those of fronts take keys only.
  const withoutRow = named.filter((id) => !isAction(id) && !['getPage', 'render'].includes(id))
  assert.deepEqual(withoutRow.toSorted(), OF_PERSONS.toSorted())
  assert.deepEqual(
    Object.keys(ACTIONS).filter((action) => !named.includes(action)),
    [],
    'rows without a route',
  )
})

it('a route for sessions or keys that names no action stops the start', () => {
  for (const access of ['key', 'session'] as const) {
    const app = Fastify() as unknown as ApiApp
    guardRoutes(app, api.parts, { note() {} } as never, api.options)
    const route = { method: 'GET', url: '/new', config: { access }, handler: async () => null } as const
    assert.throws(() => app.route(route), /GET \/new names no action/)
  }
})

/** What a member gets for an action about a domain; `passes`: whatever the route itself says. */
function expected(
  operation: Operation,
  { role, isLimited }: Member,
  domain: string,
): 'passes' | [status: number, body: object] {
  const { role: needs, isAccountWide = false } = actionRow(operation.operationId as keyof typeof ACTIONS)
  if (!hasRole(role, needs)) return [403, { error: 'Your role does not allow this', role, needs }]
  if (isAccountWide && isLimited) return [403, { error: 'Your role is limited to named domains' }]
  const isReached = domain === own.name || (domain === beyond.name && !isLimited)
  if (isAboutDomain(operation) && !isReached) return [404, { error: 'Domain not found' }]
  return 'passes'
}

const REFUSALS = [
  ...['This API key does not allow this', 'This API key is limited to named domains'],
  ...['Sign in first', 'Invalid API key', 'Your role does not allow this', 'Domain not found'],
  'Your role is limited to named domains',
]

function checkPassed({ status, body, text }: TestAnswer, name: string): void {
  assert(!REFUSALS.includes(String(body['error'])), `${name}: ${status} ${text.slice(0, 300)}`)
  assert(status < 500 || status === 503, `${name}: ${status} ${text.slice(0, 300)}`)
}

/** Some actions take away what the next ones need. */
async function repair(operation: Operation, { person, role, isLimited }: Member): Promise<void> {
  if (operation.operationId === 'leaveAccount') await join(person, role, isLimited)
}

let created = 0

/** Deleting is asked of a domain of its own, which nobody is limited to. */
async function domainToAsk(operation: Operation, name: string, outcome: string): Promise<string> {
  if (operation.operationId !== 'deleteDomain' || outcome !== 'passes') return name
  return (await api.domain(account, `deleted-${++created}.example.com`)).name
}

for (const { role, isLimited, ...rest } of members) {
  const who = { role, isLimited, ...rest }
  // Proves decided "Roles"
  it(`the ${role}${isLimited ? ' limited to one domain' : ''} may do what the table says, about each domain, and nothing else`, async () => {
    for (const operation of actions) {
      const domains = isAboutDomain(operation) ? [own.name, beyond.name, foreign.name] : [own.name]
      for (const name of domains) {
        const outcome = expected(operation, who, name)
        const domain = await domainToAsk(operation, name, outcome === 'passes' ? outcome : 'refused')
        const newName = `new-${++created}.example.com`
        const { path, ...sent } = exampleRequest(operation, { domain, newName, ids: NOTHING })
        const answer = await api.call(operation.method, path, { cookie: who.cookie, ...sent })
        const what = `${operation.method} ${path}`
        if (outcome === 'passes') checkPassed(answer, what)
        else assert.deepEqual([answer.status, answer.body], outcome, what)
        const seen = answer.text.replaceAll(domain, '')
        assert(!seen.includes('foreign.example'), `${what} tells of another account: ${answer.text}`)
        if (isLimited)
          assert(!seen.includes('beyond.example'), `${what} tells of ${beyond.name}: ${answer.text}`)
        await repair(operation, who)
      }
    }
  })

  it(`the ${role}${isLimited ? ' limited to one domain' : ''} gets for an id of another account, or out of reach, what an id that never was gets`, async () => {
    const before = await untouched()
    for (const operation of actions) await knowsNoOther(operation, { cookie: who.cookie }, isLimited)
    assert.deepEqual(await untouched(), before)
  })
}

it('an editor who is limited to a domain finds its jobs and ends its tokens and share links by their ids', async () => {
  const { cookie } = members.find(({ role, isLimited }) => role === 'editor' && isLimited)!
  const ids = await idsOfDomain(account, own)
  for (const [operationId, status] of [
    ['getJob', 200],
    ['getInspection', 200],
    ['revokeToken', 204],
    ['revokeShareLink', 200],
  ] as const) {
    const operation = actions.find((each) => each.operationId === operationId)
    assert(operation !== undefined, operationId)
    const { path } = exampleRequest(operation, { domain: own.name, newName: 'x.example.com', ids })
    const answer = await api.call(operation.method, path, { cookie })
    assert.equal(answer.status, status, `${operation.method} ${path}: ${answer.text}`)
  }
})

const KEYS: { name: string; rights: readonly Right[]; isLimited: boolean }[] = [
  { name: 'with all rights', rights: RIGHTS, isLimited: false },
  { name: 'with all rights for one domain', rights: RIGHTS, isLimited: true },
  ...RIGHTS.map((right) => ({ name: `to ${right} one domain`, rights: [right], isLimited: true })),
]

/** What a key gets for an action about a domain. */
function expectedOfKey(
  operation: Operation,
  { rights, isLimited }: (typeof KEYS)[number],
  domain: string,
): 'passes' | [status: number, body: object] {
  const { right, isAccountWide = false } = actionRow(operation.operationId as keyof typeof ACTIONS)
  if (right === null) return [401, { error: 'Sign in first' }]
  if (!rights.includes(right)) return [403, { error: 'This API key does not allow this', needs: right }]
  if (isAccountWide && isLimited) return [403, { error: 'This API key is limited to named domains' }]
  const isReached = domain === own.name || (domain === beyond.name && !isLimited)
  return isAboutDomain(operation) && !isReached ? [404, { error: 'Domain not found' }] : 'passes'
}

for (const given of KEYS) {
  // Proves decided "Rights of API keys"
  it(`an API key ${given.name} may do what the table says, about each domain, and nothing else`, async () => {
    const { rights, isLimited } = given
    const domains = isLimited ? [own.name] : null
    const now = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const made = await createKey(api.pool, account.id, { name: 'x', expiresAt: null, rights, domains }, now)
    for (const operation of actions) {
      const names = isAboutDomain(operation) ? [own.name, beyond.name, foreign.name] : [own.name]
      for (const name of names) {
        const outcome = expectedOfKey(operation, given, name)
        // A key for one domain would delete the one that it is about.
        if (outcome === 'passes' && operation.operationId === 'deleteDomain' && isLimited) continue
        const domain = await domainToAsk(operation, name, outcome === 'passes' ? outcome : 'refused')
        const about = { domain, newName: `new-${++created}.example.com`, ids: NOTHING }
        const { path, ...sent } = exampleRequest(operation, about)
        const answer = await api.call(operation.method, path, { key: made.key, ...sent })
        const what = `${operation.method} ${path}`
        if (outcome === 'passes') checkPassed(answer, what)
        else assert.deepEqual([answer.status, answer.body], outcome, what)
        const seen = answer.text.replaceAll(domain, '')
        assert(!seen.includes('foreign.example'), `${what} tells of another account: ${answer.text}`)
        if (isLimited)
          assert(!seen.includes('beyond.example'), `${what} tells of ${beyond.name}: ${answer.text}`)
      }
    }
    const before = await untouched()
    for (const operation of actions) await knowsNoOther(operation, { key: made.key }, isLimited)
    assert.deepEqual(await untouched(), before)
    await revokeKey(api.pool, account.id, made.id, api.clock.nowMs())
  })
}

const SHARES: { name: string; parts: readonly SharePart[] }[] = [
  { name: 'all parts', parts: SHARE_PARTS },
  ...SHARE_PARTS.map((part) => ({ name: `the part ${part}`, parts: [part] })),
]

/** What the holder of a share link of one domain gets. */
function expectedOfShare(
  { operationId, ...operation }: Operation,
  parts: readonly SharePart[],
  domain: string,
): 'passes' | [status: number, body: object] {
  if (!mayShare(parts, operationId as keyof typeof ACTIONS)) {
    return [403, { error: 'This link does not allow this' }]
  }
  const isReached = domain === own.name
  return isAboutDomain({ operationId, ...operation }) && !isReached
    ? [404, { error: 'Domain not found' }]
    : 'passes'
}

/** Routes for other callers: a share link may do nothing there, also beside their own session or key. */
const others = api.contract.operations.filter(
  ({ operationId, securities }) =>
    securities.length > 0 &&
    !isAction(operationId) &&
    !securities.includes('PrerenderKey') &&
    operationId !== 'getShared',
)

for (const { name: shown, parts } of SHARES) {
  // Proves decided "Share links"
  it(`a share link with ${shown} of one domain shows these, and nothing else, whatever is sent beside it`, async () => {
    const cookie = await api.session(account)
    const asked = { name: 'x', domains: [own.name], parts }
    const headers = { 'x-share-token': await madeBy<string>(cookie, '/api/share-links', asked, 'token') }
    for (const operation of [...actions, ...others]) {
      const isOther = !isAction(operation.operationId)
      const names = isAboutDomain(operation) ? [own.name, beyond.name, foreign.name] : [own.name]
      for (const domain of names) {
        const outcome = isOther
          ? ([403, { error: 'This link does not allow this' }] as const)
          : expectedOfShare(operation, parts, domain)
        const about = { domain, newName: `new-${++created}.example.com`, ids: NOTHING }
        const { path, body } = isOther
          ? { path: operation.url.replace(/\{\w+\}/g, '1'), body: undefined }
          : exampleRequest(operation, about)
        for (const beside of [{}, { cookie }, { key: account.key }]) {
          const answer = await api.call(operation.method, path, { ...beside, headers, body })
          const what = `${operation.method} ${path} beside ${Object.keys(beside)}`
          if (outcome === 'passes') checkPassed(answer, what)
          else assert.deepEqual([answer.status, answer.body], outcome, what)
          const seen = answer.text.replaceAll(domain, '')
          assert(!/(foreign|beyond)\.example/.test(seen), `${what} tells of more: ${answer.text}`)
          for (const hidden of [
            'origin_url',
            'indexnow_key',
            'consoleErrors',
            'troubles',
            '"changes"',
            '"acknowledged"',
          ]) {
            // A month tells its readers what was done, by kind and time.
            if (hidden === '"changes"' && operation.operationId === 'getMonthlyReport') continue
            if (outcome === 'passes') assert(!answer.text.includes(hidden), `${what} tells ${hidden}`)
          }
        }
      }
    }
  })
}

it('a client sees less of a domain, of a page and of incidents; a viewer sees all of it', async () => {
  const record = { consoleErrors: { count: 0, texts: [] }, troubles: [] }
  await api.pool.query(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence) values ($1, $2, 'blocked', now(), '', $3)`,
    [account.id, own.id, { count: 1, pages: [], changes: [], level: null, advice: '', url: '' }],
  )
  const cookieOf = (role: Role) => members.find((each) => each.role === role && each.isLimited)!.cookie
  const get = async (role: Role, path: string) =>
    (await api.call('GET', path, { cookie: cookieOf(role) })).text
  const paths = {
    '/api/domains': ['origin_url'],
    '/api/domains/own.example.com': ['origin_url', 'settings', 'indexnow_key'],
    '/api/incidents': ['changes', 'acknowledged'],
  }
  for (const [path, hidden] of Object.entries(paths)) {
    for (const field of hidden) {
      assert.match(await get('viewer', path), new RegExp(`"${field}"`), path)
      assert.doesNotMatch(await get('client', path), new RegExp(`"${field}"`), path)
    }
  }
  await api.pool.query(
    `insert into inspection (domain_id, path, state, crawler) values ($1, '/', 'done', $2)`,
    [own.id, { reason: 'why' }],
  )
  const details = '/api/domains/own.example.com/pages/details?path=/'
  for (const field of Object.keys(record)) {
    assert.match(await get('viewer', details), new RegExp(`"${field}"`))
    assert.doesNotMatch(await get('client', details), new RegExp(`"${field}"`))
  }
})
