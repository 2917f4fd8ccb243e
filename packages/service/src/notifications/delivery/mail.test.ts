import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createListener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { assertAnswer, startTestApi, type TestAccount, valuesOf } from '../../../../../test/support/api.ts'
import { until } from '../../../../../test/support/condition.ts'
import { startSending } from '../../../../../test/support/sending.ts'
import { startTestSmtp, type TestSmtpOptions } from '../../../../../test/support/smtp-server.ts'
import { Mailer } from '../../mail/mailer.ts'
import { evaluate } from '../incidents/evaluator.ts'
import { createEndpoint } from './endpoints.ts'
import { recordMonthlyLetters } from './monthly-letters.ts'
import { recordReports } from './report.ts'
import { Sender } from './sender.ts'

const PUBLIC_URL = 'https://prepaint.example'
const smtpOptions: TestSmtpOptions = {}

const smtp = await startTestSmtp(smtpOptions)
const server = { host: '127.0.0.1', port: smtp.port, secure: false, requireTls: false, auth: null }
const mailer = await Mailer.start(
  { ...server, from: { name: 'Prepaint', address: 'p@example.com' } },
  silentLog(),
)
const api = await startTestApi({ mailer, publicUrl: PUBLIC_URL })
const { pool } = api
const { column } = api.database
const listener = await createListener(api.database.connection, silentLog())
const options = { publicUrl: PUBLIC_URL, plans: DEFAULT_PLANS, version: '1', speed: 200 }
const guard = createAddressGuard([])
const newSender = () => new Sender(pool, guard, api.parts.vault, mailer, systemClock, silentLog(), options)
const senders = [1, 2].map(() => startSending(pool, listener, newSender()))
after(async () => {
  await Promise.all(senders.map((sender) => sender.close()))
  await mailer.close()
  smtp.close()
  await listener.close()
  await api.close()
})

const sentTo = (email: string) =>
  smtp.mails.filter(({ to }) => to.includes(email)).map(({ data }) => decoded(data))

function decoded(data: string): string {
  const bytes = data
    .replace(/=\r\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (hex) => Buffer.from(hex.replaceAll('=', ''), 'hex').toString('utf8'))
  return bytes.replace(/\r\n[ \t]+/g, ' ')
}

/** Reported at once: under load, a minute of this test is over soon. */
async function incidents(account: TestAccount, names: readonly string[], kind = 'blocked') {
  const domains = await Promise.all(names.map((name) => api.domain(account, name)))
  const at = '2026-11-22T20:00:00.000Z'
  const page = { path: '/<b>x\u202e', outcome: 'challenge', detail: 'a "reason"', at }
  const evidence = { count: 5, pages: [page], changes: [], level: null, advice: 'Look.', url: PUBLIC_URL }
  const ids = await column(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     select $1, id, $3, now(), 'It is <bad>.', $4 from unnest($2::integer[]) id returning id`,
    ...[account.id, valuesOf(domains, 'id'), kind, evidence],
  )
  const report = `select record_incident(id, 'incident.opened', 'incident ' || id) from unnest($1::bigint[]) id`
  await pool.query(report, [ids])
  return ids[0]
}

/** The nth e-mail to an address. */
const mailTo = (email: string, n = 0) => until(`e-mail ${n} has come to ${email}`, () => sentTo(email)[n])
const statesOf = async ({ key }: TestAccount) =>
  valuesOf((await api.get('/api/notifications', key)).body['emails'], 'state')
const tokenIn = (mail: string) => /\/confirm#([\w.-]+)/.exec(mail)![1]!
const confirm = (mail: string) => api.post('/api/notifications/confirm', undefined, { token: tokenIn(mail) })
const put = (account: TestAccount, emails: unknown) =>
  api.call('PUT', '/api/notifications', { key: account.key, body: { emails } })

it("the account's own address is there from the start; several incidents of a minute are one e-mail", async () => {
  const account = await api.account()
  const { body } = await api.get('/api/notifications', account.key)
  const [own] = body['emails'] as { email: string; kinds: string[]; weekly_report: boolean; state: string }[]
  assert.deepEqual(
    [own!.email, own!.kinds.length, own!.weekly_report, own!.state],
    [account.email, 10, false, 'confirmed'],
  )
  assert.equal(body['by_mail'], true)
  await incidents(account, ['one.example.com', 'two.example.com'])
  const mail = await mailTo(account.email)
  for (const line of [
    /^Subject: 2 incidents on 2 domains\r$/m,
    /^Auto-Submitted: auto-generated\r$/m,
    /^Message-ID: <evt_[0-9a-f]{32}\.\d+@prepaint\.example>\r$/m,
    /^List-Unsubscribe: <https:\/\/prepaint\.example\/unsubscribe\/[\w.-]+>\r$/m,
    /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m,
    /New: one\.example\.com: blocked by a bot challenge/,
    /&#60;bad&#62;/,
  ]) {
    assert.match(mail, line)
  }
  assert(!mail.includes('\u202e'))
  assert.doesNotMatch(mail, /<img|<script|<link|src=/)
  const waiting = `select id from delivery where account_id = $1 and state = 'waiting'`
  await until('all is delivered', async () => (await column(waiting, account.id)).length === 0)
  assert.equal(sentTo(account.email).length, 1)
})

it('a new address gets nothing until it is confirmed; kinds are chosen; the link works once', async () => {
  const account = await api.account()
  const email = 'new@example.org'
  const wanted = { domains: null, kinds: ['blocked'], weekly_report: true, monthly_report: false }
  const { body } = await put(account, [{ email: 'New@Example.org', ...wanted }])
  assert.deepEqual(body['emails'], [{ email, ...wanted, state: 'waiting' }])
  const mail = await mailTo(email)
  assert.match(mail, /^Subject: Confirm your address for Prepaint\r$/m)
  assertAnswer(await confirm(mail), 200, { email })
  assertAnswer(await confirm(mail), 404, 'This link is used, expired or invalid')
  await incidents(account, ['three.example.com'], 'dns_lost')
  await incidents(account, ['four.example.com'], 'blocked')
  assert.match(
    await mailTo(email, 1),
    /^Subject: \[Open\] four\.example\.com: blocked by a bot challenge\r$/m,
  )
  assert.equal(sentTo(account.email).length, 0)
})

it('the end of an incident answers the e-mail that told of it', async () => {
  const account = await api.account()
  const id = await incidents(account, ['thread.example.com'])
  const first = await mailTo(account.email)
  assert.match(first, /^Subject: \[Open\] thread\.example\.com: blocked by a bot challenge\r$/m)
  assert.doesNotMatch(first, /^In-Reply-To/m)
  const [, messageId] = /^Message-ID: (<\S+>)\r$/m.exec(first)!
  await pool.query(`select resolve_incident($1, 'it is over')`, [id])
  const last = await mailTo(account.email, 1)
  assert.match(last, /^Subject: \[Resolved\] thread\.example\.com: blocked by a bot challenge\r$/m)
  for (const field of ['In-Reply-To', 'References']) {
    assert.equal(new RegExp(`^${field}:\\s+(\\S+)\\r$`, 'm').exec(last)?.[1], messageId)
  }
})

it('one click unsubscribes, at once; opening the link changes nothing; naming it again sends a confirmation', async () => {
  const account = await api.account()
  await incidents(account, ['five.example.com'])
  const mail = await mailTo(account.email)
  const path = /<https:\/\/prepaint\.example(\/unsubscribe\/[\w.-]+)>/.exec(mail)![1]!
  const shown = await fetch(api.url + path)
  assert.match(await shown.text(), /<form method="post"><button>/)
  const state = () => statesOf(account)
  assert.deepEqual([shown.status, await state()], [200, ['confirmed']])
  const body = 'List-Unsubscribe=One-Click'
  for (const type of [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json',
  ]) {
    const done = await fetch(api.url + path, { method: 'POST', body, headers: { 'content-type': type } })
    assert.deepEqual([done.status, await state()], [200, ['unsubscribed']], type)
  }
  const recorded = await api.database.column<string>(
    `select target || details::text from audit_entry where account_id = $1 and action = 'notifications.changed'`,
    account.id,
  )
  assert.deepEqual(recorded, [`${account.email}{"state": {"new": "unsubscribed", "old": "confirmed"}}`])
  for (const wrong of ['/unsubscribe/x', `${path}x`, path.replace(/\/\d+\./, '/987654.')]) {
    assert.equal((await fetch(api.url + wrong)).status, 404)
    assert.equal((await fetch(api.url + wrong, { method: 'POST' })).status, 404)
  }
  await put(account, [{ email: account.email }])
  assert.deepEqual(await state(), ['unsubscribed'])
  const first = await mailTo(account.email, 1)
  assert.equal((await confirm(first)).status, 200)
  assert.deepEqual(await state(), ['confirmed'])
  await fetch(api.url + path, { method: 'POST' })
  await put(account, [{ email: account.email }])
  const second = await mailTo(account.email, 2)
  assert.equal((await confirm(first)).status, 404)
  assert.equal((await confirm(second)).status, 200)
})

it('three confirmations for an address in 24 hours, and twenty for an account', async () => {
  const email = 'often@example.org'
  const account = await api.account()
  for (let n = 0; n < 5; n++) {
    assert.equal((await put(account, [{ email }])).status, 200)
    await put(account, [])
  }
  const count = async (where: string, value: unknown) =>
    (await column(`select id from confirmation where ${where} = $1`, value)).length
  assert.equal(await count('email', email), 3)
  const many = (count: number, name: string) =>
    Array.from({ length: count }, (_, n) => ({ email: `${name}-${n}@example.org` }))
  const shared = { email: 'shared@example.org' }
  const others = await Promise.all(Array.from({ length: 30 }, () => api.account()))
  await Promise.all(others.map((other) => put(other, [shared])))
  assert.equal(await count('email', shared.email), 3)
  for (let n = 0; n < 3; n++) await put(account, many(9, `many-${n}`))
  assert.equal(await count('account_id', account.id), 20)
  const before = (await api.get('/api/notifications', account.key)).text
  const twice = [{ email: 'a@example.org' }, { email: 'A@Example.org' }]
  for (const [emails, error] of [
    [many(11, 'x'), 'emails must have at most 10 entries'],
    [twice, 'emails[1].email is listed twice'],
    [[{ email: 'nobody' }], 'emails[0].email must be an e-mail address'],
    [[{ email: 'a@example.org', weekly_report: 'yes' }], 'emails[0].weekly_report must be a boolean'],
  ] as const) {
    assertAnswer(await put(account, emails), 400, error)
  }
  assert.equal((await api.get('/api/notifications', account.key)).text, before)
})

it('an address that the server refuses', async (t) => {
  const account = await api.account()
  smtpOptions.rcpt = '550 no such person'
  t.after(() => delete smtpOptions.rcpt)
  await incidents(account, ['six.example.com'])
  await until('it is refused', async () => (await statesOf(account))[0] === 'refused')
})

it('an open incident is repeated by e-mail after 24 hours, once, and not to endpoints', async () => {
  const account = await api.account()
  await createEndpoint(pool, api.parts.vault, account.id, { url: 'https://hooks.example.com/' })
  const id = await incidents(account, ['eight.example.com'])
  const round = () => evaluate(pool, { plans: DEFAULT_PLANS, publicUrl: PUBLIC_URL, speed: 1 })
  const reminders = () =>
    column(
      `select c.format from event e join delivery d on d.event_id = e.id join channel c on c.id = d.channel_id
                  where e.account_id = $1 and type = 'mail.reminder'`,
      account.id,
    )
  const toldAgo = (hours: string) =>
    pool.query(`update incident set opened_at = now() - $2::interval where id = $1`, [id, hours])
  await toldAgo('23:59:00')
  await round()
  assert.deepEqual(await reminders(), [])
  await toldAgo('24:00:00')
  // As nodes of 0.2.0 ask for it, which know nothing of that.
  const remind = () => pool.query(`select record_incident($1, 'mail.reminder', 'as older nodes')`, [id])
  await pool.query(`insert into incident_acknowledged (incident_id, acknowledged_by) values ($1, 'x')`, [id])
  await round()
  await remind()
  assert.deepEqual(await reminders(), [], 'somebody takes care of it')
  await pool.query('delete from incident_acknowledged where incident_id = $1', [id])
  await Promise.all([round(), round()])
  await round()
  assert.deepEqual(await reminders(), ['mail'])
  await until('it has come', () =>
    sentTo(account.email).some((mail) => mail.includes('Still open: eight.example.com')),
  )
  await pool.query(`select resolve_incident($1, 'recovered')`, [id])
  await toldAgo('24:00:00')
  await round()
  assert.equal((await reminders()).length, 1)
})

it('the weekly report is sent on Mondays from 06:00 UTC, once, to who wants it, of accounts with visits', async () => {
  const [account, without] = [await api.account(), await api.account()]
  for (const each of [account, without]) await put(each, [{ email: each.email, weekly_report: true }])
  const { id } = await api.domain(account, 'nine.example.com')
  await api.domain(without, 'ten.example.com')
  await pool.query(
    `insert into traffic_day values ($1, '2026-12-02', 'search', 'Googlebot', 'hit', 7, 0, 0, 0, 0, '{}')`,
    [id],
  )
  const reportsAt = async (time: string) => {
    await recordReports(pool, new Date(time))
    const sql = `select id from event where type = 'report.weekly' and account_id in ($1, $2)`
    return (await column(sql, account.id, without.id)).length
  }
  for (const [time, count] of [
    ['2026-12-07T05:59:59Z', 0],
    ['2026-12-08T12:00:01Z', 0],
    ['2026-12-07T06:00:00Z', 1],
    ['2026-12-07T06:01:00Z', 1],
    // The week after had no visits.
    ['2026-12-14T06:00:00Z', 1],
  ] as const) {
    assert.equal(await reportsAt(time), count, time)
  }
  const mail = await mailTo(account.email)
  assert.match(mail, /^Subject: Your weekly report 2026-W49\r$/m)
  assert.match(mail, /– nine\.example\.com: requests 7, hits 100 %, renders 0, pages failing 0/)
})

// Proves decided "Addresses limited to domains"
it('an address that is limited to domains is told of these only, also in its weekly report', async () => {
  const account = await api.account()
  const shop = await api.domain(account, 'limited.example.com')
  const other = await api.domain(account, 'unlimited.example.com')
  const email = 'limited@example.org'
  const listed = [{ email: account.email }, { email, domains: ['LIMITED.example.com'], weekly_report: true }]
  const { body } = await put(account, listed)
  assert.deepEqual(valuesOf(body['emails'], 'domains'), [null, [shop.name]])
  assertAnswer(await put(account, [{ email, domains: ['foreign.example.com'] }]), 404, 'Domain not found')
  await confirm(await mailTo(email))
  const reported = async (domain: { id: number }) => {
    const [id] = await column(
      `insert into incident (account_id, domain_id, kind, since, summary, evidence) values ($1, $2, 'blocked', now(), 'x', $3) returning id`,
      ...[
        account.id,
        domain.id,
        { count: 0, pages: [], changes: [], level: null, advice: '', url: PUBLIC_URL },
      ],
    )
    await pool.query(`select record_incident($1, 'incident.opened', $2)`, [id, `limited ${id}`])
  }
  await reported(other)
  await mailTo(account.email)
  await reported(shop)
  assert.match(await mailTo(email, 1), /limited\.example\.com: blocked/)
  assert.doesNotMatch(await mailTo(email, 1), /unlimited/)
  for (const { id } of [shop, other]) {
    await pool.query(
      `insert into traffic_day values ($1, '2026-12-02', 'search', 'Googlebot', 'hit', 7, 0, 0, 0, 0, '{}')`,
      [id],
    )
  }
  for (const _ of [1, 2]) await recordReports(pool, new Date('2026-12-07T06:00:00Z'))
  const report = await mailTo(email, 2)
  assert.match(report, /– limited\.example\.com: requests 7/)
  assert.doesNotMatch(report, /unlimited/)
  // The domain goes, and with it what the address is told of: it is not told of all instead.
  await api.call('DELETE', `/api/domains/${shop.name}`, { key: account.key })
  const after = await api.get('/api/notifications', account.key)
  assert.deepEqual(valuesOf(after.body['emails'], 'domains'), [null, []])
  assert.equal((await put(account, [{ email: account.email }, { email, domains: [] }])).status, 200)
})

it('the report of a month is sent on the 1st from 06:00 UTC, once to each address that wants it, with its figures', async () => {
  const account = await api.account()
  await api.call('PUT', '/api/account/branding', {
    cookie: await api.session(account),
    body: { name: 'Blue Agency', colour: '#ffd400', sender_name: 'Blue, Agency', show_prepaint: false },
  })
  await pool.query(`update account set created_at = '2026-10-10T00:00:00Z' where id = $1`, [account.id])
  const shop = await api.domain(account, 'month.example.com')
  await api.domain(account, 'silent.example.com')
  for (const [day, visits] of [
    ['2026-11-30', 120],
    ['2026-10-31', 100],
  ]) {
    await pool.query(
      `insert into traffic_day values ($1, $2, 'search', 'Googlebot', 'hit', $3, 0, 0, 0, 0, '{}')`,
      [shop.id, day, visits],
    )
  }
  const email = 'silent@example.org'
  const { body } = await put(account, [
    { email: account.email, monthly_report: true },
    { email, domains: ['silent.example.com'], monthly_report: true },
  ])
  assert.deepEqual(valuesOf(body['emails'], 'monthly_report'), [true, true])
  await confirm(await mailTo(email))
  const recordedAt = async (time: string) => {
    // Two nodes at once.
    await Promise.all([1, 2].map(() => recordMonthlyLetters(pool, Date.parse(time))))
    return (
      await column(`select id from event where type = 'mail.monthly_report' and account_id = $1`, account.id)
    ).length
  }
  assert.equal(await recordedAt('2026-12-01T05:59:59Z'), 0)
  assert.equal(await recordedAt('2026-12-04T00:00:00Z'), 0)
  assert.equal(await recordedAt('2026-12-01T06:00:00Z'), 2)
  assert.equal(await recordedAt('2026-12-02T06:00:00Z'), 2)

  const mail = await mailTo(account.email)
  assert.match(mail, /^Subject: Report of November 2026\r$/m)
  assert.match(mail, /^From: "Blue, Agency" <p@example\.com>\r$/m)
  assert.match(
    mail,
    /Crawlers visited the 2 sites 120 times in November 2026, 20 % more than the month before/,
  )
  assert.match(
    mail,
    /– month\.example\.com: visits 120 \(20 % more\), month before 100, from the cache 100 %, failed 0, incidents 0/,
  )
  assert.match(mail, /<td[^>]*>month\.example\.com<\/td>/)
  assert.match(mail, /https:\/\/prepaint\.example\/reports\/2026-11\r/)
  assert.match(mail, /border-top:4px solid #ffd400/)
  assert.doesNotMatch(mail.replaceAll(PUBLIC_URL, ''), /Prepaint|<img|src=/)
  const limited = await mailTo(email, 1)
  assert.match(limited, /^Subject: silent\.example\.com: Report of November 2026\r$/m)
  assert.match(limited, /No crawler visited silent\.example\.com in November 2026\./)
  assert.match(limited, /reports\/2026-11\?domains=silent\.example\.com\r/)
  assert.doesNotMatch(limited, /month\.example\.com/)
})

it('a report of a month that cannot be read does not keep those of other accounts from being sent', async () => {
  const accounts = [await api.account(), await api.account()] as const
  const ids = valuesOf(accounts, 'id')
  await pool.query(`update account set created_at = '2026-08-01T00:00:00Z' where id = any ($1)`, [ids])
  for (const account of accounts) {
    const { id } = await api.domain(account, `of-${account.id}.example.com`)
    await put(account, [{ email: account.email, monthly_report: true }])
    // What was kept of the first account cannot be read.
    if (account === accounts[0])
      await pool.query(`insert into domain_month values ($1, '2026-09-01', '{}')`, [id])
  }
  const told = () =>
    column(`select account_id from event where type = 'mail.monthly_report' and account_id = any ($1)`, ids)
  await assert.rejects(recordMonthlyLetters(pool, Date.parse('2026-10-01T06:00:00Z')), TypeError)
  assert.deepEqual(await told(), [accounts[1].id])
  assert.match(
    await mailTo(accounts[1].email),
    /^Subject: of-\d+\.example\.com: Report of September 2026\r$/m,
  )
})

it('weeks are those of ISO 8601, and the report adds one up', async () => {
  const account = await api.account()
  const reportOf = async (query: string) =>
    (await api.get(`/api/report${query}`, account.key)).body['report'] as Record<string, unknown>
  for (const [week, from, to] of [
    ['2026-W47', '2026-11-16', '2026-11-22'],
    ['2020-W53', '2020-12-28', '2021-01-03'],
    ['2026-W53', '2026-12-28', '2027-01-03'],
  ]) {
    const report = await reportOf(`?week=${week}`)
    assert.deepEqual([report['week'], report['from'], report['to']], [week, from, to])
  }
  for (const wrong of ['2026-W00', '2021-W53', '2026-47']) {
    const refused = await api.get(`/api/report?week=${wrong}`, account.key)
    assertAnswer(refused, 400, 'week must be a week such as 2026-W47')
  }
  const [sunday] = await column(`select date_trunc('week', now() at time zone 'UTC')::date - 1 || ''`)
  assert.equal((await reportOf(''))['to'], sunday)
  const { id } = await api.domain(account, 'seven.example.com')
  await pool.query(
    `insert into traffic_day select $1, day::date, 'search', 'Googlebot', verdict, 5, 0, 0, 0, 0, '{}'
       from unnest(array['2026-11-15', '2026-11-16', '2026-11-22', '2026-11-23']) day, unnest(array['hit', 'rendered']) verdict`,
    [id],
  )
  const { visits, visits_before, hit_ratio, to, crawlers } = await reportOf('?week=2026-W47')
  assert.deepEqual([visits, visits_before, hit_ratio, to], [20, 10, 0.5, '2026-11-22'])
  assert.deepEqual(crawlers, [{ crawler: 'Googlebot', visits: 20 }])
})
