import assert from 'node:assert/strict'
import { it } from 'node:test'
import { invalidatedBy, openTestDatabase } from '../../test/support/database.ts'
import { says } from '../../test/support/public-error.ts'
import { openQueue, paths, type TestQueue } from '../../test/support/queue.ts'
import { testWarm } from '../../test/support/warm.ts'
import { systemClock } from '../clock.ts'
import type { AccountId } from '../ids.ts'
import { enqueue } from '../queue/jobs/enqueue.ts'
import { refreshAhead } from '../queue/upkeep/refresh-ahead.ts'
import { startWarm } from '../queue/warm/warm.ts'
import { createStaleFinder } from '../store/last-visits.ts'
import { createAccount, findAccount, setPlan, setSuspended } from './accounts.ts'
import { parseEmail } from './email.ts'
import { DEFAULT_PLANS } from './plans.ts'
import { removeOldCounts, removeOldSecrets, removeOldSignIns } from './retention.ts'
import { verifyPassword } from './sign-in/passwords.ts'

const database = await openTestDatabase()
const { pool } = database
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

it('keeps the e-mail in lower case and the password only as its hash; one account for an e-mail', async () => {
  const account = await create(' Ann@Example.COM ', 'agency', 'correct horse')
  assert.deepEqual([account.email, account.plan], ['ann@example.com', 'agency'])
  assert(!('password' in account))
  const [hash] = await database.column<string>('select password_hash from account where id = $1', account.id)
  assert.equal(await verifyPassword('correct horse', hash!), true)
  assert(!hash!.includes('correct horse'))
  assert.deepEqual(await findAccount(pool, 'ANN@example.com'), account)
  await assert.rejects(create('ANN@example.com'), says('Account already exists'))
  for (const email of ['lost@example.com', 'no e-mail'])
    await assert.rejects(findAccount(pool, email), says('Account not found'))
})

it('names what is wrong; passwords have 8 to 128 characters, counted as they are hashed', async () => {
  await assert.rejects(create('nobody'), says('email must be an e-mail address'))
  const plans = says('plan must be one of starter, pro, agency, agency_plus, enterprise')
  await assert.rejects(create('p@example.com', 'toString'), plans)
  const wrong = says('password must have 8 to 128 characters')
  await assert.rejects(create('p7@example.com', 'pro', 'x'.repeat(7)), wrong)
  await assert.rejects(create('p129@example.com', 'pro', '🔑'.repeat(129)), wrong)
  await create('p8@example.com', 'pro', 'x'.repeat(8))
  await create('p128@example.com', 'pro', '🔑'.repeat(128))
})

it('setPlan changes the plan and tells every node', async () => {
  const { id } = await create('mover@example.com', 'starter')
  const told = await invalidatedBy(database, async () =>
    assert.equal((await setPlan(pool, DEFAULT_PLANS, id, 'agency')).plan, 'agency'),
  )
  assert.deepEqual(told, [{ account: id }])
  await assert.rejects(setPlan(pool, DEFAULT_PLANS, id, 'gold'), /invalid_field/)
  const nobody = setPlan(pool, DEFAULT_PLANS, 0 as AccountId, 'pro')
  await assert.rejects(nobody, says('Account not found'))
})

it('one spelling for one mailbox; what is no address, or longer than 254 characters, is none', () => {
  assert.equal(parseEmail(' Ann.Lee+shop@Example.COM '), 'ann.lee+shop@example.com')
  const domain = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(55)}.com`
  const local = 'l'.repeat(254 - 1 - domain.length)
  assert.equal(parseEmail(`${local}@${domain}`)?.length, 254)
  const wrong = ['', 'ann', 'ann@', '@example.com', 'ann@example', 'a b@example.com', 'ann@example.com\0']
  for (const each of [...wrong, `${local}l@${domain}`]) assert.equal(parseEmail(each), null, each)
})

const queue = await openQueue()

const suspend = async (domain: Parameters<TestQueue['accountOf']>[0]) =>
  setSuspended(queue.pool, await queue.accountOf(domain), true, systemClock.nowMs())

it('what waits is cancelled, and its warm; of others nothing', async () => {
  const warm = testWarm(queue)
  const [domain, other] = [await warm.domainWith(3), await queue.domain()]
  await startWarm(queue.pool, domain)
  await warm.read(domain)
  await warm.step()
  for (const each of [domain, other]) await enqueue(queue.pool, each, paths(2, '/own'), 'refresh')
  await suspend(domain)
  const open = await queue.column(`select domain_id from job where state = 'queued'`)
  assert.deepEqual(open, [other, other])
  const { state, reason } = await warm.progress(domain)
  assert.deepEqual([state, reason], ['cancelled', 'the account is suspended'])
})

it('nothing is rendered for it any more: neither ahead of crawlers nor by a warm', async () => {
  const warm = testWarm(queue)
  const domain = await warm.domainWith(3)
  await queue.pool.query(
    `with page as (
       insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, '/old', 200, '[]', '', 0, 'e', now() - interval '2 days'))
     insert into last_visit values ($1, '/old', 'Googlebot', 'search', now())`,
    [domain],
  )
  await suspend(domain)
  await startWarm(queue.pool, domain)
  await warm.read(domain)
  const ahead = { plans: DEFAULT_PLANS, clock: systemClock, stalest: createStaleFinder() }
  while (await refreshAhead({ pool: queue.pool, ...ahead })) {}
  await warm.step()
  assert.deepEqual(await queue.jobs(domain), [])
  assert.equal((await warm.progress(domain)).state, 'cancelled')
})
