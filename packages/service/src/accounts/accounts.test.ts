import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS, planNamed } from '@prepaint/contract/settings/plans.ts'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { RefreshAhead } from '@prepaint/pages/queue/upkeep/refresh-ahead.ts'
import { startWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { limitReached, overQuota, readQuota, takeRender } from '@prepaint/pages/quota.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { readPlans } from '../../../../bin/settings/plans.ts'
import { invalidatedBy, openTestDatabase } from '../../../../test/support/database.ts'
import { openFolder } from '../../../../test/support/folder.ts'
import { says } from '../../../../test/support/public-error.ts'
import { paths } from '../../../../test/support/queue.ts'
import { askForSubjects, runDueTasks } from '../../../../test/support/tasks.ts'
import { addTestDomain } from '../../../../test/support/traffic.ts'
import { openWarm } from '../../../../test/support/warm.ts'
import { createAccount, findAccountsByEmail, setPlan, setSuspended } from './accounts.ts'
import { parseEmail } from './email.ts'
import { removeOldCounts, removeOldSecrets, removeOldSignIns } from './retention.ts'
import { verifyPassword } from './sign-in/passwords.ts'

const database = await openTestDatabase()
const { pool } = database
const warm = await openWarm()
const { queue } = warm
await pool.query(`insert into account (email, plan) values ('a@example.com', 'enterprise')`)
await pool.query(
  `insert into domain (account_id, custom_domain, origin_url)
   select a.id, n || '.example', 'http://origin.example' from account a, unnest(array['one', 'two']) n`,
)

const left = (table: string, name: string) =>
  database.column<string>(`select ${name} from ${table} order by ctid`)
const days = (count: number) => count * 1_440

// Proves decided "Retention"
it('months stay for a year beside the one that runs; windows of webhooks for an hour after their end', async () => {
  await pool.query(
    `insert into render_count (domain_id, month, renders)
     select d.id, (date_trunc('month', now() at time zone 'UTC') - make_interval(months => ago))::date, ago
       from domain d, generate_series(0, 13) ago`,
  )
  await pool.query(
    `insert into webhook_window
     select id, now() - make_interval(mins => case custom_domain when 'one.example' then 119 else 121 end), 1 from domain`,
  )
  assert.equal(await removeOldCounts(pool, { step: 1 }), 3)
  assert.deepEqual(await database.column('select max(renders) from render_count'), [12])
  const windows = 'select custom_domain from webhook_window join domain on id = domain_id'
  assert.deepEqual(await database.column(windows), ['one.example'])
})

// Proves decided "Retention"
it('keys and tokens go 90 days after they were revoked or, if nobody did, expired', async () => {
  // Ago, in minutes; null: it was not, or never ends by itself.
  const secrets: [name: string, revoked: number | null, expired: number | null][] = [
    ['works', null, null],
    ['revoked within', days(90) - 1, null],
    ['revoked past it', days(90) + 1, -1],
    ['expired within', null, days(90) - 1],
    ['expired past it', null, days(90) + 1],
    ['expired past it, revoked within', days(90) - 1, days(400)],
  ]
  const values = `$1, sha256(convert_to($1, 'UTF8')), '', now() - interval '3 years', now() - make_interval(mins => $2)`
  for (const [name, revoked, expired] of secrets) {
    await pool.query(
      `insert into api_key (account_id, name, key_hash, hint, created_at, revoked_at, expires_at)
       select id, ${values}, now() - make_interval(mins => $3) from account`,
      [name, revoked, expired],
    )
    await pool.query(
      `insert into webhook_token (domain_id, name, token_hash, hint, created_at, revoked_at)
       select id, ${values} from domain where custom_domain = 'one.example'`,
      [name, revoked],
    )
  }
  assert.equal(await removeOldSecrets(pool, { step: 1 }), 3)
  const stay = ['works', 'revoked within', 'expired within', 'expired past it, revoked within']
  assert.deepEqual(await left('api_key', 'name'), stay)
  assert.equal((await left('webhook_token', 'name')).includes('revoked past it'), false)
})

// Proves decided "Retention"
it('sessions, links and failures go half an hour after they have ended', async () => {
  await pool.query(
    `with owner as (insert into person (email) select email from account returning id)
     insert into member (account_id, person_id, role) select a.id, o.id, 'owner' from account a, owner o`,
  )
  // In minutes: the first is still good to another node.
  for (const age of [29, 31]) {
    const at = `now() - make_interval(mins => ${age})`
    await pool.query(
      `insert into sign_in_session (account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
       select id, $1, '', $2, now(), now(), ${at} from account`,
      [Buffer.from(`${age}`), `${age}`],
    )
    await pool.query(
      `insert into sign_in_link (token_hash, kind, email, expires_at) values ($1, 'invitation', $2, ${at})`,
      [Buffer.from(`${age}`), `${age}`],
    )
    await pool.query(`insert into sign_in_failure values ($1, ${at}, 1)`, [`${age}`])
  }
  assert.equal(await removeOldSignIns(pool, { step: 1 }), 3)
  assert.deepEqual(await left('sign_in_session', 'user_agent'), ['29'])
  assert.deepEqual(await left('sign_in_link', 'email'), ['29'])
  assert.deepEqual(await left('sign_in_failure', 'subject'), ['29'])
})

const create = (email: string, plan = 'pro', password: string | null = null) =>
  createAccount(pool, DEFAULT_PLANS, { email, plan, password })

// Proves decided "Several accounts of one address"
it('keeps the e-mail in lower case and the password only as its hash; a second account of an e-mail needs a name of its own', async () => {
  const account = await create(' Ann@Example.COM ', 'agency', 'correct horse')
  assert.deepEqual([account.email, account.plan], ['ann@example.com', 'agency'])
  assert(!('password' in account))
  const [hash] = await database.column<string>(
    'select password_hash from person where email = $1',
    account.email,
  )
  assert.equal(await verifyPassword('correct horse', hash!), true)
  assert(!hash!.includes('correct horse'))
  assert.deepEqual(await findAccountsByEmail(pool, 'ANN@example.com'), [account])
  await assert.rejects(create('ANN@example.com'), says('Account already exists'))
  const second = await createAccount(pool, DEFAULT_PLANS, {
    email: 'ANN@example.com',
    name: 'Second',
    plan: 'pro',
    password: null,
  })
  assert.deepEqual(
    (await findAccountsByEmail(pool, 'ann@example.com')).map(({ id }) => id),
    [account.id, second.id],
  )
  for (const email of ['lost@example.com', 'no e-mail'])
    assert.deepEqual(await findAccountsByEmail(pool, email), [])
})

it('names what is wrong; passwords have 10 to 128 characters, counted as they are hashed', async () => {
  await assert.rejects(create('nobody'), says('email must be an e-mail address'))
  const plans = says('plan must be one of starter, pro, agency, agency_plus, enterprise')
  await assert.rejects(create('p@example.com', 'toString'), plans)
  const wrong = says('password must have 10 to 128 characters')
  await assert.rejects(create('p9@example.com', 'pro', 'k2v-horses'.slice(1)), wrong)
  await assert.rejects(create('p129@example.com', 'pro', '🔑'.repeat(129)), wrong)
  await create('p10@example.com', 'pro', 'k2v-horses')
  await create('p128@example.com', 'pro', `${'🔑'.repeat(100)}twelve gardeners in the rain`)
})

// Proves decided "New passwords"
it('a password is refused if it is easy to guess, also for who knows the address', async () => {
  const easy = says('password is too easy to guess')
  for (const password of [
    'password12',
    'aaaaaaaaaa',
    '1234567890',
    'qwertyuiop',
    'Gardeners@Example.com',
    'gardeners1',
  ]) {
    await assert.rejects(create('gardeners@example.com', 'pro', password), easy, password)
  }
  await create('gardeners@example.com', 'pro', 'twelve gardeners')
})

it('setPlan changes the plan and tells every node', async () => {
  const { id } = await create('mover@example.com', 'starter')
  const told = await invalidatedBy(database, async () =>
    assert.equal((await setPlan(pool, DEFAULT_PLANS, id, 'agency')).plan, 'agency'),
  )
  assert.deepEqual(told, [{ account: id }])
})

it('one spelling for one mailbox; what is no address, or longer than 254 characters, is none', () => {
  assert.equal(parseEmail(' Ann.Lee+shop@Example.COM '), 'ann.lee+shop@example.com')
  const domain = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(55)}.com`
  const local = 'l'.repeat(254 - 1 - domain.length)
  assert.equal(parseEmail(`${local}@${domain}`)?.length, 254)
  const wrong = ['', 'ann', 'ann@', '@example.com', 'ann@example', 'a b@example.com', 'ann@example.com\0']
  for (const each of [...wrong, `${local}l@${domain}`]) assert.equal(parseEmail(each), null, each)
})

it('of a suspended account what waits is cancelled, and its warm; nothing more is rendered for it, neither ahead of crawlers nor by a warm', async () => {
  const [domain, other] = [await warm.started(3), await queue.domain()]
  await queue.store(domain, ['/p0'], 48)
  await queue.visited(domain, 1)
  await warm.step()
  for (const each of [domain, other]) await enqueue(queue.pool, each, paths(2, '/own'), 'refresh')
  await setSuspended(queue.pool, await queue.accountOf(domain), true, systemClock.nowMs())
  const { state, reason } = await warm.progress(domain)
  assert.deepEqual([state, reason], ['cancelled', 'the account is suspended'])

  await startWarm(queue.pool, domain)
  await warm.read(domain)
  const ahead = new RefreshAhead(queue.pool, DEFAULT_PLANS, systemClock)
  await askForSubjects(queue.pool, ahead)
  assert.equal(await runDueTasks(queue.pool, ahead), 2)
  await warm.step()
  assert.equal((await warm.progress(domain)).state, 'cancelled')
  assert.deepEqual(await queue.column(`select domain_id from job where state = 'queued'`), [other, other])
})

const NOVEMBER = Date.UTC(2026, 10, 21, 12)
const sound = { site_limit: null, monthly_render_limit: 10, api_keys: true, webhooks: false }
const PLANS = { pro: sound }

it('a limit is reached at 100 %, and overrun at 120 %, rounded up', () => {
  for (const [limit, reachedAt, overAt] of [
    [0, 0, 0],
    [1, 1, 2],
    [7, 7, 9],
    [5, 5, 6],
    [1_000_000, 1_000_000, 1_200_000],
  ] as const) {
    const at = (used: number) => [limitReached({ used, limit }), overQuota({ used, limit })]
    assert.deepEqual([at(reachedAt - 1)[0], at(reachedAt)[0]], [false, true])
    assert.deepEqual([at(overAt - 1)[1], at(overAt)[1]], [false, true])
  }
})

let count = 0
const newDomain = () => addTestDomain(pool, `d${++count}.example.com`)

const take = (domain: DomainId, limit: number, nowMs = NOVEMBER) => takeRender(pool, domain, limit, nowMs)
const used = async (domain: DomainId, nowMs = NOVEMBER) => (await readQuota(pool, PLANS, domain, nowMs))?.used

it('the rule in SQL is the rule in TypeScript', async () => {
  const { rows } = await pool.query<{ used: number; limit: number; is_over: boolean }>(
    `select used, most as limit, over_quota(used, most) as is_over
         from generate_series(0, 60) used, generate_series(0, 50) most`,
  )
  for (const { is_over, ...quota } of rows) assert.equal(overQuota(quota), is_over, JSON.stringify(quota))
})

// Proves interface 8/6
it('counts to 120 % and not one further', async () => {
  const domain = await newDomain()
  for (let i = 0; i < 12; i++) assert.equal(await take(domain, 10), true)
  assert.equal(await take(domain, 10), false)
  assert.equal(await used(domain), 12)
  assert.equal(await take(domain, 11), true, 'a larger plan counts at once')
  assert.equal(await take(domain, 5), false)
})

// Proves decided "Monthly renders"
it('counts by UTC day too, and no day has one that was refused', async () => {
  const domain = await newDomain()
  const evening = Date.UTC(2026, 10, 21, 23, 59, 59, 999)
  for (const nowMs of [NOVEMBER, evening, evening + 1, evening + 1]) await take(domain, 3, nowMs)
  assert.equal(await take(domain, 3, evening + 1), false)
  const days = `select day || ' ' || renders from render_day where domain_id = $1 order by day`
  assert.deepEqual(await database.column(days, domain), ['2026-11-21 2', '2026-11-22 2'])
})

// Proves interface 1/7
it('months begin and end in UTC, wherever the node and the database stand', async () => {
  const domain = await newDomain()
  const client = await pool.connect()
  await client.query(`set time zone 'Pacific/Kiritimati'`)
  const firstMs = Date.UTC(2026, 11, 1)
  await takeRender(client, domain, 10, firstMs - 1)
  await takeRender(client, domain, 10, firstMs)
  await takeRender(client, domain, 10, firstMs)
  client.release(true)
  const counts = [NOVEMBER, firstMs, Date.UTC(2027, 0, 1)].map((nowMs) => used(domain, nowMs))
  assert.deepEqual(await Promise.all(counts), [1, 2, 0])
  const months = 'select month::text from render_count where domain_id = $1 order by 1'
  assert.deepEqual(await database.column(months, domain), ['2026-11-01', '2026-12-01'])
})

it('reads the limit of the plan; a plan that is no more allows nothing; a domain that is gone has none', async () => {
  const domain = await newDomain()
  assert.deepEqual(await readQuota(pool, PLANS, domain, NOVEMBER), { used: 0, limit: 10 })
  assert.deepEqual(await readQuota(pool, {}, domain, NOVEMBER), { used: 0, limit: 0 })
  assert.equal(await readQuota(pool, PLANS, 999_999 as DomainId, NOVEMBER), null)
})

const folder = openFolder()

// Proves interface 8/10, decided "Plans (default catalogue)"
it('a catalogue from a file; the default one: what each plan may', () => {
  assert.deepEqual(read(JSON.stringify({ gold: sound })), { gold: sound })
  const plans = Object.entries(DEFAULT_PLANS).map(([name, plan]) => [name, ...Object.values(plan)])
  assert.deepEqual(plans, [
    ['starter', 1, 1_000, false, false],
    ['pro', 5, 10_000, false, false],
    ['agency', 25, 50_000, true, false],
    ['agency_plus', 100, 200_000, true, true],
    ['enterprise', null, 1_000_000, true, true],
  ])
})

it('a catalogue that is wrong is refused, with every problem named', () => {
  for (const [text, message] of [
    ['{', /JSON/],
    ['[]', /catalogue: /],
    ['{}', /at least one plan/],
    ['{"gold": {"site_limit": 1}}', /gold\.monthly_render_limit.*gold\.api_keys/],
    [JSON.stringify({ gold: { ...sound, price: 3 } }), /gold: .*price/],
    [JSON.stringify({ gold: { ...sound, site_limit: -1 } }), /gold\.site_limit/],
    [JSON.stringify({ 'Gold plan': sound }), /lower case letters/],
  ] as const) {
    assert.throws(() => read(text), message)
  }
  assert.throws(() => readPlans('/does/not/exist.json'), /plan catalogue \/does\/not\/exist\.json: ENOENT/)
})

it('a plan that the catalogue does not have allows nothing', () => {
  for (const name of ['gold', 'constructor', '__proto__']) {
    assert.deepEqual(Object.values(planNamed(DEFAULT_PLANS, name)), [0, 0, false, false])
  }
  assert.equal(planNamed(DEFAULT_PLANS, 'agency').site_limit, 25)
})

function read(text: string) {
  const file = path.join(folder, 'plans.json')
  writeFileSync(file, text)
  return readPlans(file)
}
