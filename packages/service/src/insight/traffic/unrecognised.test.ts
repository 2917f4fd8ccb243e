import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { utcDay } from '@prepaint/contract/dates.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../../test/support/edge.ts'
import {
  NAMES_KEPT,
  NAMES_OF_ACCOUNT,
  NAMES_OF_DOMAIN,
  readUnrecognised,
  UnrecognisedClients,
} from './unrecognised.ts'

const DAY_MS = 86_400_000

const edge = await openEdge({
  parts: {
    answered: (request, { domain, automatic }) => {
      if (domain !== null && automatic !== undefined) {
        clients.note(domain, automatic, request.headers['user-agent'] ?? '')
      }
    },
  },
})
const never = { flushEveryMs: 3_600_000 }
const clients = new UnrecognisedClients(edge.pool, { nowMs: edge.nowMs }, silentLog(), never)
after(() => clients.close())

/** The clients of a domain today, most visits first, for example `curl tool 3`. */
async function listed(domain: DomainId, { account = edge.account, limit = 1_000 } = {}): Promise<string[]> {
  await clients.flush()
  const range = { fromMs: edge.nowMs(), toMs: edge.nowMs() + 1, step: 'day' } as const
  const found = await readUnrecognised(edge.pool, { account, domains: [domain] }, range, limit)
  const lines = found.clients.map(({ name, kind, visits }) => `${name} ${kind} ${visits}`)
  return found.others === 0 ? lines : [...lines, `others ${found.others}`]
}

// Proves decided "Unrecognised clients"
it('tools and unknown automatic clients are named; people, crawlers and what the owner named are not', async () => {
  const domain = await edge.addDomain('named.example')
  const ask = (agent: string | null) => edge.verdict('/', { host: 'named.example', agent })
  await edge.settings(
    { crawlers: { add: [{ pattern: 'shopwatch', category: 'seo' }], remove: ['wget'] } },
    'named.example',
  )
  const headless = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/140.0.0.0 Safari/537.36'
  for (const agent of ['curl/8.5.0', 'curl/7.88.1', headless, 'Acme-Reader/2.1', null])
    assert.equal(await ask(agent), 'pass; not-a-crawler', `${agent}`)
  for (const agent of [PERSON, GOOGLEBOT, 'shopwatch/1', 'Wget/1.21']) await ask(agent)
  await until('all are counted', async () => (await listed(domain)).length === 4)
  const expected = [
    'curl tool 2',
    'Acme-Reader unknown 1',
    'HeadlessChrome tool 1',
    'no user agent unknown 1',
  ]
  assert.deepEqual(await listed(domain), expected)
  const [curl] = await edge.pool
    .query('select user_agent from traffic_unrecognised where domain_id = $1 and name = $2', [domain, 'curl'])
    .then(({ rows }) => rows)
  assert.equal(curl.user_agent, 'curl/7.88.1')
})

it('another account reads nothing', async () => {
  const domain = await edge.addDomain('mine.example')
  clients.note({ id: domain, account: edge.account }, { kind: 'tool', name: 'curl' }, 'curl/8')
  assert.deepEqual(await listed(domain), ['curl tool 1'])
  assert.deepEqual(await listed(domain, { account: (edge.account + 1) as AccountId }), [])
})

it('names beyond the limit in memory are counted together', async () => {
  const domain = await edge.addDomain('many.example')
  const note = (at: number) =>
    clients.note({ id: domain, account: edge.account }, { kind: 'unknown', name: `n${at}` }, `n${at}/1`)
  for (let at = 0; at < NAMES_OF_DOMAIN; at++) note(at)
  assert.equal((await listed(domain)).at(-1), 'n9 unknown 1')
  for (let at = 0; at <= NAMES_OF_DOMAIN; at++) note(1_000 + at)
  assert.equal((await listed(domain)).at(-1), 'others 1')
})

it('an account with many domains leaves room in memory for the others', async () => {
  const account = (edge.account + 1) as AccountId
  const domains: DomainId[] = []
  for (let at = 0; at <= NAMES_OF_ACCOUNT / NAMES_OF_DOMAIN; at++) {
    domains.push(await edge.addDomain(`share-${at}.example`))
  }
  const note = (domain: DomainId, name: string, owner = account) =>
    clients.note({ id: domain, account: owner }, { kind: 'tool', name }, name)
  const last = domains.pop()!
  for (const domain of domains) for (let at = 0; at < NAMES_OF_DOMAIN; at++) note(domain, `n${at}`)
  note(last, 'one-too-many')
  note(last, 'of-another-account', edge.account)
  assert.equal((await listed(domains.at(-1)!)).length, NAMES_OF_DOMAIN)
  assert.deepEqual(await listed(last), ['of-another-account tool 1'])
})

it('of a day the names with most visits are kept, the rarest beyond the limit are counted together', async () => {
  const domain = await edge.addDomain('rare.example')
  const note = (name: string, visits: number) => {
    for (let visit = 0; visit < visits; visit++) {
      clients.note({ id: domain, account: edge.account }, { kind: 'tool', name }, name)
    }
  }
  for (let at = 0; at < NAMES_KEPT; at++) {
    note(`often-${at}`, 2)
    if (at % 40 === 39) await clients.flush()
  }
  assert.equal((await listed(domain)).length, NAMES_KEPT)
  note('rare', 1)
  const lines = await listed(domain)
  assert.deepEqual([lines.length, lines.at(-1)], [NAMES_KEPT + 1, 'others 1'])
  assert.deepEqual(await listed(domain, { limit: 1 }), ['often-0 tool 2', `others ${2 * NAMES_KEPT - 1}`])
})

it('the names of a deleted domain, and days that ended, are not part of the list', async () => {
  const domain = await edge.addDomain('gone.example')
  clients.note({ id: domain, account: edge.account }, { kind: 'tool', name: 'curl' }, 'curl/8')
  await edge.pool.query('delete from domain where id = $1', [domain])
  assert.deepEqual(await listed(domain), [])
  const old = await edge.addDomain('old.example')
  await edge.pool.query(
    `insert into traffic_unrecognised values ($1, $2, 'curl', 'tool', 5, 'curl/8', now())`,
    [old, utcDay(edge.nowMs() - DAY_MS)],
  )
  assert.deepEqual(await listed(old), [])
})
