/** Traffic, incidents, who is told of them, deliveries and the weekly report, as their owner sees them. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { linkToken, secretOf } from '@prepaint/service/notifications/delivery/addresses.ts'
import { GPTBOT, startTestTraffic } from '../support/traffic.ts'
import { elements, openScreens, until } from './open-dashboard.ts'

const screens = await openScreens(async (api, owner) => {
  const shop = await api.domain(owner, 'shop.example.com')
  await api.domain(owner, 'quiet.example.com')
  await api.pool.query(`update domain set created_at = now() - interval '200 days' where id = $1`, [shop.id])
  const traffic = startTestTraffic(api.pool, { nowMs: api.clock.nowMs })
  for (let at = 0; at < 8; at++) traffic.visit(shop.id, { path: '/', seconds: 0.001 })
  traffic.visit(shop.id, { path: '/about', verdict: 'rendered', seconds: 0.4 })
  traffic.visit(shop.id, { url: '/slow?a=1', verdict: 'pass; timed-out', seconds: 10 })
  for (let at = 0; at < 2; at++) traffic.visit(shop.id, { path: '/gone', verdict: 'pass; soft-404' })
  traffic.visit(shop.id, { crawler: null, verdict: 'pass; not-a-crawler' })
  traffic.visit(shop.id, { path: '/', crawler: 'ai', agent: GPTBOT, form: 'markdown' })
  await traffic.close()
  await api.pool.query(
    `insert into traffic_forbidden values ($1, $2, 'ai', 'GPTBot', 1, '{/members,/drafts?id=1}')`,
    [shop.id, new Date(api.clock.atMs)],
  )
  const at = new Date().toISOString()
  const evidence = {
    count: 9,
    pages: [{ path: '/<b>cart', outcome: 'origin-error', detail: 'status 500', at }],
    // An earlier version recorded changes after the beginning, too.
    changes: [
      { what: 'certificate', at: new Date(Date.now() + 3_600_000).toISOString() },
      { what: 'deploy', at: new Date(Date.now() - 60_000).toISOString() },
    ],
    level: null,
    advice: 'Open one of the example pages.',
    url: '/domains/shop.example.com/renders',
  }
  await api.pool.query(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     values ($1, $2, 'renders_failing', now(), '9 of the last 10 renders failed.', $3)`,
    [owner.id, shop.id, JSON.stringify(evidence)],
  )
  await api.pool.query(
    `insert into traffic_unrecognised values ($1, $2, 'AcmeFetcher', 'unknown', 3, 'AcmeFetcher/2 (+acme)', now()),
       ($1, $2, 'curl', 'tool', 7, 'curl/8.5.0', now())`,
    [shop.id, new Date(api.clock.atMs).toISOString().slice(0, 10)],
  )
  await api.pool.query(
    `insert into traffic_day values ($1, '2026-11-17', 'search', 'Googlebot', 'hit', 7, 0, 0, 0, 0, '{}')`,
    [shop.id],
  )
  await api.pool.query(
    `insert into traffic_day values ($1, (now() at time zone 'UTC')::date - 45, 'search', 'Googlebot', 'hit', 5, 0, 0, 0, 0, '{}')`,
    [shop.id],
  )
})
const { api, owner, page, complaints, run, becomes, open, shows, click, fill, isClean } = screens
const { isCleanEverywhere } = elements(page)
afterEach(() => assert.deepEqual(complaints, []))

/** Presses a key at the chart of that name, and returns the text for screen readers. */
async function press(chart: string, key: string): Promise<string> {
  const at = `document.querySelector('[role=slider][aria-label^="${chart}"]')`
  await run(
    `${at}.focus(), ${at}.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true }))`,
  )
  return run(`${at}.getAttribute('aria-valuetext')`)
}
/** The last step of a chart with visits, even if the hour or day has just changed. */
async function pressLast(chart: string): Promise<string> {
  const last = await press(chart, 'End')
  return /[1-9]/.test(last.split(': ').at(-1) ?? '') ? last : press(chart, 'ArrowLeft')
}
const shown = () => run<string>(`document.querySelector('main').innerText`)

describe('the traffic of a domain', () => {
  it('figures, and charts that are read by keyboard, or as tables', async () => {
    await open('/domains/shop.example.com/traffic')
    await becomes(`document.querySelector('[role=slider] path')`)
    for (const words of [
      'Crawler visits\n13',
      '11 for pages, 2 for missing ones',
      'Hit ratio\n81.8\u00a0%',
      'Failed\n1',
      'People and tools\n1',
    ]) {
      await until(`the figures have ${words}`, async () => (await shown()).includes(words))
    }
    const visits = 'Crawler visits by category'
    assert.match(await press(visits, 'Escape'), /^Total: Search 12, AI 1$/)
    assert.match(await pressLast(visits), /: Search 12, AI 1$/)
    assert.match(await press(visits, 'Home'), /: Search 0, AI 0$/)
    assert.match(await pressLast('Answers to crawlers'), /: Hit 9, Rendered 1, Failed 1, Not found 2$/)
    assert.match(await pressLast('Hit ratio'), /: Hit ratio 81\.8\s%$/)

    await click('By crawler')
    assert.match(await pressLast('Crawler visits by crawler'), /: Googlebot 12, GPTBot 1$/)
    await click('By form')
    assert.match(await pressLast('Crawler visits by form'), /: HTML 9, Markdown 1$/)
    await click('By device')
    assert.match(await pressLast('Crawler visits by device'), /: Desktop 10$/)
    await run(`document.querySelectorAll('details').forEach((each) => { each.open = true })`)
    await becomes(
      `/Hit\\s+Rendered\\s+Failed[^]*9\\s+1\\s+1/.test(document.querySelectorAll('figure table')[1]?.innerText)`,
    )
  })

  it('the range is part of the address', async () => {
    await click('90 days')
    await becomes(`location.search === '?range=90d'`)
    await becomes(`document.querySelector('[role=slider]').getAttribute('aria-valuemax') === '89'`)
    assert.match(await pressLast('Answers to crawlers'), /\(UTC\): Hit 9, Rendered 1, Failed 1, Not found 2$/)
    await open('/domains/shop.example.com/traffic?range=7d')
    assert.equal(await run(`document.querySelector('input:checked').parentElement.textContent`), '7 days')
  })

  it('the period before is a dashed line, with a difference at each figure; a day limits all that is shown', async () => {
    await open('/domains/shop.example.com/traffic?range=30d')
    await becomes(`document.querySelector('[role=slider] path')`)
    await shows('more')
    assert.match(await shown(), /Crawler visits\n\d+, \d+\s% more/)
    await shows('Dashed: the 30 days before.')
    assert.match(await press('Crawler visits by category', 'Escape'), /Before 5$/)
    await isClean()
    const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10)
    await page.getByLabel('Day', { exact: true }).selectOption(day)
    await becomes(`location.search === '?range=30d&day=${day}'`)
    await shows('No visits on ')
    await click('Show 30 days')
    await becomes(`location.search === '?range=30d'`)
    await becomes(`document.querySelector('[role=slider] path')`)
    await pressLast('Answers to crawlers')
    await press('Answers to crawlers', 'Enter')
    await becomes(`/&day=\\d/.test(location.search)`)
    await shows('By hour, in your time zone.')
    // Today has as many hours as have begun.
    await becomes(`Number(document.querySelector('[role=slider]').getAttribute('aria-valuemax')) < 24`)
    await shows('failed renders')
  })

  it('failing pages link to their inspection; everything can be downloaded as CSV', async () => {
    await becomes(`[...document.querySelectorAll('a')].some((each) => each.textContent === '/slow?a=1')`)
    const target = `[...document.querySelectorAll('a')].find((each) => each.textContent === '/slow?a=1').search`
    assert.equal(await run(target), '?path=%2Fslow%3Fa%3D1')
    const files = await run<string[]>(
      `Promise.all([...document.querySelectorAll('a[download]')].map(async ({ href }) => {
        const answer = await fetch(href)
        return answer.headers.get('content-type') + ' ' + (await answer.text()).split(',', 1)[0]
      }))`,
    )
    const firsts = ['time', 'list', 'day'].map((first) => `text/csv; charset=utf-8 ${first}`)
    assert.deepEqual(files, firsts)
  })

  it('shows which crawlers asked for what robots.txt forbids them', async () => {
    await shows('/members, /drafts?id=1')
    assert.match(await shown(), /GPTBot\s+AI\s+1\s+1\s+\/members, \/drafts\?id=1/)
  })

  it('a client that was not recognised becomes a crawler or a person, which is undone if it was a mistake', async () => {
    const lists = async () => {
      const { body } = await api.get('/api/domains/shop.example.com', owner.key)
      return (body as { domain: { settings: { crawlers: unknown } } }).domain.settings.crawlers
    }
    await shows('AcmeFetcher/2 (+acme)')
    await isClean()
    await click('This is a crawler AcmeFetcher')
    await shows('User agent contains')
    await isClean()
    await fill('User agent contains', 'x')
    await click('Save')
    await shows('must have 3 characters other than *')
    await fill('User agent contains', 'AcmeFetcher')
    await fill('Category', 'seo')
    await click('Save')
    await shows('AcmeFetcher is a crawler from now on')
    const acme = { pattern: 'AcmeFetcher', category: 'seo' }
    assert.deepEqual(await lists(), { add: [acme], remove: [] })
    await click('This is a person curl')
    await shows('curl is a person from now on')
    assert.deepEqual(await lists(), { add: [acme], remove: ['curl'] })
    const undo = `[...document.querySelectorAll('button')].filter((each) => each.textContent === 'Undo')`
    await run(`${undo}.at(-1).click()`)
    await until('curl is undecided again', async () => {
      const { remove } = (await lists()) as { remove?: string[] }
      return remove?.length === 0
    })
  })

  it('a domain of an earlier version is offered 404 for missing pages, which is undone if it was a mistake', async () => {
    const stored = async () => {
      const { body } = await api.get('/api/domains/shop.example.com', owner.key)
      return (body as { domain: { settings: { soft_404: string } } }).domain.settings.soft_404
    }
    assert.equal(await run(`document.body.innerText.includes('missing pages exist')`), false)
    await api.call('PUT', '/api/domains/shop.example.com', {
      key: owner.key,
      body: { settings: { soft_404: 'refuse' } },
    })
    await open('/domains/shop.example.com/traffic')
    await shows('2 visits were for pages that do not exist')
    await isClean()
    await click('Answer 404')
    await shows('Crawlers get 404 for pages that do not exist')
    assert.equal(await stored(), 'answer')
    await becomes(`!document.body.innerText.includes('missing pages exist')`)
    await click('Undo')
    await until('the site answers again', async () => (await stored()) === 'refuse')
  })

  it('of another domain, by the switcher: without visits, a command for the first one', async () => {
    await screens.page.getByRole('combobox', { name: 'Switch domain' }).fill('queit')
    await screens.page.getByRole('option', { name: 'quiet.example.com' }).click()
    await becomes(`location.pathname === '/domains/quiet.example.com/traffic'`)
    await shows('No visits in the last 24 hours')
    await shows('curl -sI -A Googlebot --connect-to quiet.example.com:80:127.0.0.1:80')
  })
})

describe('the account', () => {
  it('all domains together, and each of them', async () => {
    await open('/traffic')
    await becomes(`document.querySelector('[role=slider] path')`)
    await until('figures and sites are there', async () =>
      /Crawler visits\n13[\s\S]*shop\.example\.com\s+11\s+81\.8\s%/.test(await shown()),
    )
  })

  it('the plan and its use', async () => {
    await open('/plan')
    for (const text of ['Your plan: agency_plus', 'Sites: 2 of 100', 'Active API keys: 1 of 5'])
      await shows(text)
    await shows('200,000 a month for each domain')
  })
})

describe('incidents and notifications', () => {
  it('the overview begins with the incident and has the figures of the week, and the bell leads to the incident', async () => {
    await open('/domains/shop.example.com')
    await shows('9 of the last 10 renders failed.')
    const card = page.getByRole('article', { name: 'shop.example.com: Renders failing' })
    for (const words of ['What changed before: a deploy', 'Open one of the example pages.']) {
      await card.getByText(words).waitFor()
    }
    assert.equal(await page.getByText('Nothing wrong.').count(), 0)
    assert.match(
      await shown(),
      /Renders failing[\s\S]*Crawler visits in 7 days\n13[\s\S]*Hit ratio\n81\.8\s%[\s\S]*Last crawler\nG/,
    )
    await isCleanEverywhere()
    await click('Open incidents: 1')
    await shows('Renders failing · shop.example.com')
    await shows('/<b>cart: the server answered with an error (status 500)')
    await shows('Open one of the example pages.')
    await shows('What changed before: a deploy')
    assert.doesNotMatch(await shown(), /certificate/, 'what came after the beginning is no cause')
    await isClean()
    await click('Show the failed renders')
    await becomes(`location.pathname.endsWith('/renders') && location.search.includes('origin-error')`)
  })

  it('an incident is acknowledged with a note and taken back; several on one server are one group; filters stand in the address', async () => {
    await open('/incidents?state=open')
    await click('Acknowledge')
    await isClean()
    await fill('Note', 'Asked the host')
    await page.getByRole('textbox', { name: 'Note' }).press('Control+Enter')
    await shows(`Acknowledged by ${owner.email}`)
    await shows('Asked the host')
    await isClean()
    await click('Take back')
    await becomes(`!document.body.innerText.includes('Asked the host')`)

    await api.pool.query(
      `insert into incident (account_id, domain_id, kind, since, summary, evidence)
       select account_id, d.id, 'origin_unreachable', now(), 'No answer.', i.evidence from domain d,
         (select evidence from incident limit 1) i where account_id = $1`,
      [owner.id],
    )
    await open('/incidents')
    await shows('Origin unreachable on 2 sites, same server')
    await isCleanEverywhere()
    await fill('Kind', 'blocked')
    await shows('No incident “Blocked by a bot challenge”')
    await becomes(`location.search === '?kind=blocked'`)
    await click('Show all incidents')
    await fill('Site', 'quiet.example.com')
    await becomes(`document.querySelectorAll('article').length === 1`)
    await api.pool.query(`select resolve_incident(id, 'recovered') from incident`)
    await shows('1 resolved incident')
    await becomes(`document.querySelector('[aria-label="Open incidents: 0"]')`)
  })

  it('addresses are added, endpoints tested, and deliveries replayed', async () => {
    await open('/notifications')
    await shows(owner.email)
    await click('Add an address')
    await fill('E-mail', 'team@example.org')
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
    const token = linkToken(await secretOf(api.pool, api.parts.vault, id), id, round)
    await open(`/confirm#${token}`)
    assert.equal(await run('location.hash'), '')
    await isClean()
    await click('Confirm this address')
    await shows('team@example.org now gets e-mails about incidents.')
    await isClean()
  })
})

it('the charts of a new site begin with its first visit, and have no lines between a few points', async () => {
  const [quiet] = await api.database.column<DomainId>(
    `select id from domain where custom_domain = 'quiet.example.com'`,
  )
  const traffic = startTestTraffic(api.pool, { nowMs: api.clock.nowMs })
  for (let at = 0; at < 3; at++) traffic.visit(quiet!, { path: '/', verdict: 'pass; timed-out', seconds: 10 })
  await traffic.close()
  await open('/domains/quiet.example.com/traffic')
  await becomes(`document.querySelector('[role=slider] path')`)
  assert.match(await shown(), /Crawler visits\nSince \d+:00(\s[AP]M)?\. By hour/)
  assert.equal(await run(`document.querySelectorAll('[role=slider] path[class*=line]').length`), 0)
  assert((await run<number>(`document.querySelectorAll('[role=slider] circle').length`)) > 0)
  assert(Number(await run(`document.querySelector('[role=slider]').getAttribute('aria-valuemax')`)) <= 1)
  // All of them failed.
  await becomes(`document.querySelector('[data-trouble] dt').textContent === 'Failed'`)
  await isClean()
})
