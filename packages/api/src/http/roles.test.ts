import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type PersonId, wholeAccount } from '@prepaint/contract/ids.ts'
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
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { addMember } from '@prepaint/service/accounts/members.ts'
import { addPerson } from '@prepaint/service/accounts/persons.ts'
import { createShareLink } from '@prepaint/service/accounts/share-links.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import Fastify from 'fastify'
import { openApi, storePages, type TestAnswer } from '../../../../test/support/api.ts'
import type { Operation } from '../../../../test/support/api-contract.ts'
import { exampleRequest, NOTHING } from '../../../../test/support/example-request.ts'
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
}

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
    const owner = { member: null, role: 'owner' } as const
    const asked = { name: 'x', domains: [own.name], parts, author: null }
    const { token } = await createShareLink(
      api.pool,
      wholeAccount(account.id),
      owner,
      asked,
      api.clock.nowMs(),
    )
    const headers = { 'x-share-token': token }
    const cookie = await api.session(account)
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
          for (const hidden of ['origin_url', 'indexnow_key', 'consoleErrors', 'troubles', '"changes"']) {
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
    '/api/incidents': ['changes'],
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
