import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GPTBOT, startTestTraffic } from '../support/traffic.ts'
import { openScreens } from './open-dashboard.ts'

const { complaints, run, becomes, open, shows, click } = await openScreens(async (api, owner) => {
  const shop = await api.domain(owner, 'shop.example.com')
  await api.domain(owner, 'quiet.example.com')
  const traffic = startTestTraffic(api.pool, { nowMs: api.clock.nowMs })
  for (let at = 0; at < 8; at++) traffic.visit(shop.id, { path: '/', seconds: 0.001 })
  traffic.visit(shop.id, { path: '/about', verdict: 'rendered', seconds: 0.4 })
  traffic.visit(shop.id, { url: '/slow?a=1', verdict: 'pass; timed-out', seconds: 10 })
  traffic.visit(shop.id, { crawler: null, verdict: 'pass; not-a-crawler' })
  traffic.visit(shop.id, { path: '/', crawler: 'ai', agent: GPTBOT, form: 'markdown' })
  await traffic.close()
  await api.pool.query(
    `insert into traffic_forbidden values ($1, $2, 'ai', 'GPTBot', 1, '{/members,/drafts?id=1}')`,
    [shop.id, new Date(api.clock.atMs)],
  )
})

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
  it('figures, and charts that are read by keyboard', async () => {
    await open('/domains/shop.example.com/traffic')
    await becomes(`document.querySelector('[role=slider] path')`)
    const text = await shown()
    for (const words of ['Crawler visits\n11', 'Hit ratio\n81.8%', 'Failed\n1', 'People and tools\n1']) {
      assert(text.includes(words), `${words} in ${text}`)
    }
    const visits = 'Crawler visits by category'
    assert.match(await press(visits, 'Escape'), /^Whole range: Search 10, AI 1$/)
    assert.match(await pressLast(visits), /: Search 10, AI 1$/)
    assert.match(await press(visits, 'Home'), /: Search 0, AI 0$/)
    assert.match(await pressLast('Verdicts'), /: Hit 9, Rendered 1, Failed 1$/)
    assert.match(await pressLast('Hit ratio'), /: Hit ratio 81\.8%$/)
    assert.match(await press('Hit ratio', 'Home'), /: Hit ratio –$/)

    await click('By crawler')
    assert.match(await pressLast('Crawler visits by crawler'), /: Googlebot 10, GPTBot 1$/)
    await click('By form')
    assert.match(await pressLast('Crawler visits by form'), /: HTML 9, Markdown 1$/)
    await click('By device')
    assert.match(await pressLast('Crawler visits by device'), /: Desktop 10$/)
  })

  it('each chart as a table', async () => {
    const tables = await run<number>(
      `document.querySelectorAll('details').forEach((each) => { each.open = true }), document.querySelectorAll('figure').length`,
    )
    assert.equal(tables, 6)
    await becomes(`document.querySelectorAll('figure table').length === 6`)
    const rows = await run<string[]>(
      `[...document.querySelectorAll('figure')[1].querySelectorAll('tr')].map((row) => [...row.cells].slice(1).map((cell) => cell.innerText).join(' '))`,
    )
    assert.equal(rows.length, 25)
    assert.equal(rows.filter((row) => row !== '0 0 0').join(), 'Hit Rendered Failed,9 1 1')
  })

  it('the range is part of the address', async () => {
    await click('90 days')
    await becomes(`location.search === '?range=90d'`)
    await becomes(`document.querySelector('[role=slider]').getAttribute('aria-valuemax') === '89'`)
    assert.match(await pressLast('Verdicts'), /\(UTC\): Hit 9, Rendered 1, Failed 1$/)
    await open('/domains/shop.example.com/traffic?range=7d')
    assert.equal(await run(`document.querySelector('input:checked').parentElement.textContent`), '7 days')
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
    assert.deepEqual(
      files,
      ['time', 'list', 'day'].map((first) => `text/csv; charset=utf-8 ${first}`),
    )
  })

  it('shows which crawlers asked for what robots.txt forbids them', async () => {
    await shows('/members, /drafts?id=1')
    assert.match(await shown(), /GPTBot\s+AI\s+1\s+1\s+\/members, \/drafts\?id=1/)
  })

  it('without visits, shows a command for the first one', async () => {
    await open('/domains/quiet.example.com/traffic')
    await shows('No visits in the last 24 hours')
    await shows('curl -sI -A Googlebot --connect-to quiet.example.com:80:127.0.0.1:80')
  })
})

describe('the account', () => {
  it('all domains together, and each of them', async () => {
    await open('/traffic')
    await becomes(`document.querySelector('[role=slider] path')`)
    assert.match(await shown(), /Crawler visits\n11[\s\S]*shop\.example\.com\s+11\s+81\.8%/)
  })

  it('the plan and its use', async () => {
    await open('/plan')
    for (const text of ['Your plan: agency_plus', 'Sites: 2 of 100', 'Active API keys: 1 of 5'])
      await shows(text)
    await shows('200,000 a month for each domain')
  })

  it('no window has logged a violation of the content security policy', () => {
    assert.deepEqual(complaints, [])
  })
})
