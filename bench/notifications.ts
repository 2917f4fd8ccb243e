/**
 * What 1,000,000 undelivered events cost others: `node bench/notifications.ts [--events 1000000]`. Their receivers hang, and
 * a node sends meanwhile. The same with none, before and after, in one run. Exits with status 1 if a goal is missed.
 * Last figures: RESULTS.md.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { parseAllowedRange } from '@prepaint/outbound/address-range'
import { enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { createEndpoint } from '@prepaint/service/notifications/delivery/endpoints.ts'
import { Sender } from '@prepaint/service/notifications/delivery/sender.ts'
import { Claims } from '../packages/pages/src/queue/jobs/claim.ts'
import { takeDeliveries } from '../packages/service/src/notifications/delivery/claim.ts'
import { startTestApi } from '../test/support/api.ts'
import { startSending } from '../test/support/sending.ts'
import { machineLine, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'

const { values: asked } = parseArgs({ options: { events: { type: 'string', default: '1000000' } } })
/** As many as may wait for one account. */
const EACH = 10_000
const ACCOUNTS = Math.ceil(Number(asked.events) / EACH)
const ROUNDS = 300
/** Goal: median with the events to the mean of those without. The machine is shared: figures differ by a third anyway. */
const TIMES = 1.5

const receiver = http.createServer(() => {}).listen(0, '127.0.0.1')
await once(receiver, 'listening')
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hangs`
const api = await startTestApi()
const { pool, parts: apiParts } = api
const listener = await createListener(api.database.connection, silentLog())
const guard = createAddressGuard([parseAllowedRange('127.0.0.1/32')!])
const owner = await api.account()
const { id: domain } = await api.domain(owner, 'bench.example.com')
const endpoint = await createEndpoint(pool, apiParts.vault, owner.id, { url })
await enqueue(
  pool,
  domain,
  Array.from({ length: 5_000 }, (_, n) => `/${n}` as PagePath),
  'warm',
)
const claims = new Claims(pool, DEFAULT_PLANS, randomUUID(), {
  ...{ accountCap: 3, domainCap: 4, domainBackgroundCap: 4, leaseMs: 60_000, liveWaitMs: 10_000 },
})
let rounds = 0

const WHAT: Record<string, () => Promise<unknown>> = {
  'claim of a render': () =>
    claims.claim({ slots: 1, backgroundSlots: 1, occupied: [] }, systemClock.nowMs()),
  'GET /api/domains': () => api.get('/api/domains', owner.key),
  'GET /api/incidents': () => api.get('/api/incidents', owner.key),
  'GET /api/endpoints/:id/deliveries?limit=1': () =>
    api.get(`/api/endpoints/${endpoint.id}/deliveries?limit=1`, owner.key),
  'event recorded': () =>
    pool.query(`select record_event($1, null, null, 'domain.live', $2, '{}')`, [
      owner.id,
      `round ${++rounds}`,
    ]),
  'claim of deliveries': () => takeDeliveries(pool, endpoint.id, 1),
}

console.log(`${machineLine()}; load ${loadavg()[0]!.toFixed(1)}`)
const none = await measure()
await fill()
const many = await measure()
await pool.query('truncate event cascade')
const again = await measure()
console.log(`load ${loadavg()[0]!.toFixed(1)}\n`)
const events = (ACCOUNTS * EACH).toLocaleString('en')
const rows = Object.keys(WHAT).map((what) => {
  const [before, with1m, after] = [none, many, again].map((found) => found.get(what)!) as [
    number[],
    number[],
    number[],
  ]
  const [a, b, c] = [before, with1m, after].map((took) => percentile(took, 0.5)) as [number, number, number]
  const times = b / ((a + c) / 2)
  // With none, there is nothing to claim, and no limit to keep.
  const isJudged = what === 'claim of a render' || what.startsWith('GET')
  if (isJudged && times > TIMES) process.exitCode = 1
  const show = (took: number[]) => [0.5, 0.95].map((share) => percentile(took, share).toFixed(1)).join(' / ')
  return [what, show(before), show(with1m), show(after), times.toFixed(2)]
})
console.log(markdownTable(['ms, p50 / p95', 'none', `${events} undelivered`, 'none again', 'times'], rows))
receiver.closeAllConnections()
receiver.close()
await listener.close()
await api.close()

async function measure(): Promise<Map<string, number[]>> {
  const options = { plans: DEFAULT_PLANS, version: 'bench', speed: 1, publicUrl: '' }
  const sender = new Sender(pool, guard, apiParts.vault, null, systemClock, silentLog(), options)
  const sending = startSending(pool, listener, sender)
  const took = new Map(Object.keys(WHAT).map((what) => [what, [] as number[]]))
  for (let round = -20; round < ROUNDS; round++) {
    for (const [what, act] of Object.entries(WHAT)) {
      const startedMs = performance.now()
      await act()
      if (round >= 0) took.get(what)!.push(performance.now() - startedMs)
    }
    // What was claimed here is not sent, and no job is rendered.
    await pool.query(
      `update job set state = 'queued', node = null, lease_until = null, started_at = null where state = 'running'`,
    )
    await pool.query(
      `update delivery set lease = null, due_at = now() where account_id = $1 and lease is not null`,
      [owner.id],
    )
  }
  receiver.closeAllConnections()
  await sending.close()
  return took
}

/** Half is due now, half in an hour. */
async function fill(): Promise<void> {
  for (let n = 0; n < ACCOUNTS; n++) {
    const account = n === 0 ? owner : await api.account()
    const { id } = n === 0 ? endpoint : await createEndpoint(pool, apiParts.vault, account.id, { url })
    await pool.query(
      `with made as (
         insert into event (account_id, type, key, body)
         select $1::integer, 'domain.live', 'fill ' || $1::integer || ' ' || k, event_body('domain.live', json_build_object('domain', k))
           from generate_series(1, $3) k returning id)
       insert into delivery (event_id, account_id, channel_id, due_at)
       select id, $1, $2, now() + (row_number() over () % 2) * interval '1 hour' from made`,
      [account.id, id, EACH],
    )
  }
  console.log(`filled; load ${loadavg()[0]!.toFixed(1)}`)
}
