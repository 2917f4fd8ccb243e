import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { until as untilWithin } from '../support/condition.ts'
import { startFleet } from '../support/fleet.ts'
import { openFolder } from '../support/folder.ts'
import { serve } from '../support/loopback.ts'
import { startTestSmtp } from '../support/smtp-server.ts'
import { callApi, openAccount } from '../support/tenant.ts'

/** Ahead by that much, then behind by it, changing every two seconds; the nodes in turns. */
const JUMP_MS = 7_200_000
const DOMAINS = 20
const LIMIT = 100
/** At each level, a node is killed: so many deliveries, e-mails or milliseconds later. */
const KILLS = [
  { level: 80, after: { deliveries: 5 } },
  { level: 90, after: { mails: 1 } },
  { level: 100, after: { ms: Math.random() * 1_000 } },
  { level: 120, after: { ms: Math.random() * 3_000 } },
]
/** A delivery of a killed node is repeated after its lease of a minute. */
const until = <T>(what: string, probe: () => T | Promise<T>) => untilWithin(what, probe, 240_000)

const received: { id: string; body: string; skewSeconds: number }[] = []
const tries = new Map<string, number>()
const receiver = await serve(async (req, res) => {
  const body = String(await buffer(req))
  const id = String(req.headers['webhook-id'])
  const skewSeconds = Math.abs(Date.now() / 1_000 - Number(req.headers['webhook-timestamp']))
  received.push({ id, body, skewSeconds })
  tries.set(id, (tries.get(id) ?? 0) + 1)
  res.writeHead(tries.get(id) === 1 && received.length % 3 === 0 ? 503 : 204).end()
})
const smtp = await startTestSmtp()
const plansFile = path.join(openFolder(), 'plans.json')
const plan = { site_limit: null, monthly_render_limit: LIMIT, api_keys: true, webhooks: true }
writeFileSync(plansFile, JSON.stringify({ small: plan }))
const settings = {
  PREPAINT_ROLES: 'api',
  PREPAINT_CHROMIUM: '/nonexistent/chromium',
  PREPAINT_PLANS_FILE: plansFile,
  PREPAINT_NOTIFY_SPEED: '100',
  PREPAINT_PUBLIC_URL: 'https://prepaint.example',
  PREPAINT_SECRET_KEY: Buffer.alloc(32, 3).toString('base64'),
  PREPAINT_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
  PREPAINT_MAIL_FROM: 'prepaint@example.com',
  TEST_CLOCK_JUMP_EVERY_MS: '2000',
}
const fleet = await startFleet([JUMP_MS, -JUMP_MS].map((clockAheadMs) => ({ settings, clockAheadMs })))
after(async () => {
  const left = await fleet.close()
  await receiver.close()
  smtp.close()
  assert.deepEqual(left, [])
})

it('one of two nodes is killed again and again, their clocks jump: each event has one id and arrives, and is in an e-mail', async (t) => {
  const { pool, members } = fleet
  const email = 'owner@example.com'
  const { key } = await openAccount(members[0]!.process, { email, plan: 'small' })
  const body = { url: `${receiver.url}/` }
  const made = await callApi(members[1]!.process, key, { method: 'POST', path: '/api/endpoints', body })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { rows: domains } = await pool.query<{ id: number; name: string }>(
    `insert into domain (account_id, custom_domain, origin_url)
     select a.id, 'd' || n || '.example.org', 'https://origin.example.org' from account a, generate_series(1, $1) n
     returning id, custom_domain as name`,
    [DOMAINS],
  )
  for (const [n, { level, after: moment }] of KILLS.entries()) {
    const victim = members[n % 2]!
    const [delivered, mailed] = [received.length, smtp.mails.length]
    await pool.query(
      `insert into render_count select id, date_trunc('month', now() at time zone 'UTC')::date, $1 from domain
       on conflict (domain_id, month) do update set renders = excluded.renders`,
      [(LIMIT * level) / 100],
    )
    const { deliveries = 0, mails = 0, ms = 0 } = moment
    await setTimeout(ms)
    await until(
      `${deliveries} deliveries and ${mails} e-mails`,
      () => received.length - delivered >= deliveries && smtp.mails.length - mailed >= mails,
    )
    t.diagnostic(`killed after ${JSON.stringify(moment)}`)
    await victim.process.kill()
    await victim.start()
    await until(`an event of level ${level} for each domain`, async () => {
      const { rows } = await pool.query<{ count: number }>('select count(*)::int from event')
      return rows[0]!.count === DOMAINS * (n + 1)
    })
  }
  await until(
    'everything is delivered',
    async () => (await pool.query(`select from delivery where state <> 'delivered' limit 1`)).rowCount === 0,
  )
  const { rows: events } = await pool.query<{ id: string; body: string; type: string }>(
    'select id, body, type from event order by id',
  )
  const ofType = (type: string) => events.filter((event) => event.type === type).length
  const counts = [ofType('incident.opened'), ofType('incident.updated'), events.length]
  assert.deepEqual(counts, [DOMAINS, DOMAINS * (KILLS.length - 1), DOMAINS * KILLS.length])
  const bodyOf = new Map(events.map((event) => [event.id, event.body]))
  assert.deepEqual([...new Set(received.map(({ id }) => id))].sort(), events.map(({ id }) => id).sort())
  for (const each of received) {
    assert.equal(each.body, bodyOf.get(each.id))
    assert(each.skewSeconds < 60, `signed ${each.skewSeconds} seconds off`)
  }
  // An e-mail that was sent when its node died is sent again, recognisable by its Message-ID unless it holds more.
  const mails = Map.groupBy(smtp.mails, ({ data }) => /^Message-ID: (\S+)/m.exec(data)![1]!)
  for (const { name } of domains) {
    for (const { level } of KILLS) {
      const told = [...mails.values()].filter((same) => {
        const text = same[0]!.data.replaceAll('=\r\n', '')
        return new RegExp(`: ${name}: quota reached[^]{0,40}${level} of ${LIMIT}`).test(text)
      })
      // An e-mail that is late holds only the last of an incident.
      const least = level === KILLS.at(-1)!.level ? 1 : 0
      assert(told.length >= least && told.length <= 2, `${name} at ${level} %: ${told.length}`)
    }
  }
  for (const same of mails.values()) assert(same.length <= 2)
})
