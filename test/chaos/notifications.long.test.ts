import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, it } from 'node:test'
import { until } from '../support/condition.ts'
import { type Fleet, startFleet } from '../support/fleet.ts'
import { startTestSmtp } from '../support/smtp-server.ts'
import { callApi, openAccount } from '../support/tenant.ts'

/** Ahead by that much, then behind by it, changing every two seconds; the nodes in turns. */
const JUMP_MS = 7_200_000
const DOMAINS = 20
const LIMIT = 100
const LEVELS = [80, 90]
/** A delivery of a killed node is repeated after its lease of a minute. */
const PATIENCE_MS = 240_000

type Received = { id: string; body: string; skewSeconds: number }

const received: Received[] = []
const folder = mkdtempSync(path.join(tmpdir(), 'prepaint-notify-'))
let smtp: Awaited<ReturnType<typeof startTestSmtp>>
let fleet: Fleet
let onReceived = () => {}
const tries = new Map<string, number>()
const receiver = http.createServer((req, res) => {
  const parts: Buffer[] = []
  req.on('data', (part: Buffer) => parts.push(part))
  req.on('end', () => {
    const id = String(req.headers['webhook-id'])
    const skewSeconds = Math.abs(Date.now() / 1_000 - Number(req.headers['webhook-timestamp']))
    received.push({ id, body: Buffer.concat(parts).toString(), skewSeconds })
    tries.set(id, (tries.get(id) ?? 0) + 1)
    onReceived()
    res.writeHead(tries.get(id) === 1 && received.length % 3 === 0 ? 503 : 204).end()
  })
})

before(async () => {
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  smtp = await startTestSmtp()
  const plansFile = path.join(folder, 'plans.json')
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
  fleet = await startFleet([
    { settings, clockAheadMs: JUMP_MS },
    { settings, clockAheadMs: -JUMP_MS },
  ])
})
after(async () => {
  const left = await fleet?.close()
  receiver.closeAllConnections()
  receiver.close()
  smtp?.close()
  rmSync(folder, { recursive: true, force: true })
  assert.deepEqual(left, [])
})

it('one of two nodes is killed again and again, their clocks jump: each event has one id and arrives, and is in one e-mail', async (t) => {
  const { pool, members } = fleet
  const email = 'owner@example.com'
  const { key } = await openAccount(members[0]!.process, { email, plan: 'small' })
  const body = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` }
  const made = await callApi(members[1]!.process, key, { method: 'POST', path: '/api/endpoints', body })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { rows: domains } = await pool.query<{ id: number; name: string }>(
    `insert into domain (account_id, custom_domain, origin_url)
     select a.id, 'd' || n || '.example.org', 'https://origin.example.org' from account a, generate_series(1, $1) n
     returning id, custom_domain as name`,
    [DOMAINS],
  )
  for (const [n, level] of LEVELS.entries()) {
    // In the middle: after some of the deliveries, before the others and perhaps before an e-mail.
    const victim = members[n % 2]!
    const dying = new Promise<void>((resolve) => {
      let count = 0
      onReceived = () => {
        if (++count === 5) resolve(victim.process.kill())
      }
    })
    await pool.query(
      `insert into render_count select id, date_trunc('month', now() at time zone 'UTC')::date, $1 from domain
       on conflict (domain_id, month) do update set renders = excluded.renders`,
      [(LIMIT * level) / 100],
    )
    await dying
    await victim.start()
    await until(
      `all of level ${level} is delivered`,
      async () => {
        const { rows } = await pool.query<{ all: number; open: number }>(
          `select count(distinct e.id)::int as all, count(*) filter (where d.state <> 'delivered')::int as open
             from event e join delivery d on d.event_id = e.id`,
        )
        return rows[0]!.all === DOMAINS * (n + 1) && rows[0]!.open === 0
      },
      PATIENCE_MS,
    )
  }
  const { rows: events } = await pool.query<{ id: string; body: string; type: string }>(
    'select id, body, type from event order by id',
  )
  assert.deepEqual(
    Object.entries(Object.groupBy(events, ({ type }) => type)).map(([type, all]) => [type, all!.length]),
    [
      ['incident.opened', DOMAINS],
      ['incident.updated', DOMAINS * (LEVELS.length - 1)],
    ].toSorted(),
  )
  const bodyOf = new Map(events.map((event) => [event.id, event.body]))
  assert.deepEqual([...new Set(received.map(({ id }) => id))].sort(), events.map(({ id }) => id).sort())
  for (const each of received) {
    assert.equal(each.body, bodyOf.get(each.id))
    assert(each.skewSeconds < 60, `signed ${each.skewSeconds} seconds off`)
  }
  // An e-mail that was sent when its node died is sent again, recognisable by its Message-ID.
  const mails = Map.groupBy(smtp.mails, ({ data }) => /^Message-ID: (\S+)/m.exec(data)![1]!)
  for (const { name } of domains) {
    for (const level of LEVELS) {
      const told = [...mails.values()].filter((same) => {
        const text = same[0]!.data.replaceAll('=\r\n', '')
        return new RegExp(`: ${name}: quota reached[^]{0,40}${level} of ${LIMIT}`).test(text)
      })
      assert.equal(told.length, 1, `${name} at ${level} %`)
    }
  }
  for (const same of mails.values()) assert(same.length <= 2)
  t.diagnostic(
    `${received.length} deliveries of ${events.length} events, ${smtp.mails.length} e-mails of ${mails.size}`,
  )
})
