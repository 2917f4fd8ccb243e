/** Incidents, who is told of them, deliveries and the weekly report, as their owner sees them. */
import assert from 'node:assert/strict'
import { afterEach, it } from 'node:test'
import { linkToken, secretOf } from '../../src/notifications/delivery/addresses.ts'
import { openScreens } from './open-dashboard.ts'

const { api, owner, complaints, run, becomes, open, shows, click, fill, isClean } = await openScreens(
  async (api, owner) => {
    const { id } = await api.domain(owner, 'shop.example.com')
    const at = new Date().toISOString()
    const evidence = {
      count: 9,
      pages: [{ path: '/<b>cart', outcome: 'origin-error', detail: 'status 500', at }],
      changes: [{ what: 'deploy', at }],
      level: null,
      advice: 'Open one of the example pages.',
      url: '/domains/shop.example.com/renders',
    }
    await api.pool.query(
      `insert into incident (account_id, domain_id, kind, since, summary, evidence)
       values ($1, $2, 'renders_failing', now(), '9 of the last 10 renders failed.', $3)`,
      [owner.id, id, JSON.stringify(evidence)],
    )
    await api.pool.query(
      `insert into traffic_day values ($1, '2026-11-17', 'search', 'Googlebot', 'hit', 7, 0, 0, 0, 0, '{}')`,
      [id],
    )
  },
)
afterEach(() => assert.deepEqual(complaints, []))

it('the overview states the health of a domain, and the bell leads to the incident', async () => {
  await open('/domains/shop.example.com')
  await shows('Renders failing. 9 of the last 10 renders failed.')
  await isClean()
  await click('Open incidents: 1')
  await shows('shop.example.com: Renders failing')
  await shows('/<b>cart')
  await shows('Open one of the example pages.')
  await isClean()
  await api.pool.query(`select resolve_incident(id, 'recovered') from incident`)
  await becomes(`document.querySelector('[aria-label="Open incidents: 0"]')`)
})

it('addresses are added, endpoints tested, and deliveries replayed', async () => {
  await open('/notifications')
  await shows(owner.email)
  await fill('Another address', 'team@example.org')
  await click('Add')
  await shows('Waits for its confirmation')
  await open('/notifications')
  await fill('URL', 'https://hooks.example.com/x')
  await run(`document.querySelector('input[type=url]').form.requestSubmit()`)
  await shows('whsec_')
  await click('I have copied it')
  await click('Send a test to https://hooks.example.com/x')
  await shows('endpoint.test')
  await api.pool.query(
    `update delivery set state = 'failed', error = 'timed-out' where channel_id in (select id from channel where format <> 'mail')`,
  )
  await open('/notifications')
  await shows('timed-out')
  await isClean()
  await click('Replay endpoint.test')
  await shows('waiting')
})

it('the weekly report, and the link that confirms an address', async () => {
  await open('/report?week=2026-W47')
  await shows('Googlebot 7')
  await isClean()
  const { rows } = await api.pool.query<{ id: number; confirm_round: number }>(
    `select id, confirm_round from channel where address = 'team@example.org'`,
  )
  const { id, confirm_round: round } = rows[0]!
  const token = linkToken(await secretOf(api.pool, api.deps.vault, id), id, round)
  await open(`/confirm#${token}`)
  assert.equal(await run('location.hash'), '')
  await isClean()
  await click('Confirm this address')
  await shows('team@example.org is told from now on.')
  await isClean()
})
