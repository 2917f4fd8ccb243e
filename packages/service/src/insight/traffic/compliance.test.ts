/** What is counted of live requests, as the edge tells of them. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { parseRobots } from '@prepaint/contract/site-files/robots-rules.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { FACEBOOK, GOOGLEBOT, GPTBOT, openEdge, PERSON } from '../../../../../test/support/edge.ts'
import { startTestTraffic, storedLines } from '../../../../../test/support/traffic.ts'
import { Compliance, LIMITS, readCompliance } from './compliance.ts'
import { readFormRequests } from './read-summaries.ts'
import { readTraffic } from './read-traffic.ts'

let robots = 'User-agent: *\nDisallow: /private\n\nUser-agent: GPTBot\nDisallow: /'
const fetched: string[] = []
const edge = await openEdge({
  origin: (req, res) => {
    fetched.push(req.url!)
    res.end(req.url === '/robots.txt' ? robots : 'a page')
  },
  parts: {
    answered: (request, answered) => {
      traffic.count(request, answered)
      const { headers, url } = request
      const { domain, crawler } = answered
      if (domain !== null && crawler !== null) {
        compliance.note(domain, crawler, headers['user-agent']!, url!)
      }
    },
  },
})
const clock = { nowMs: edge.nowMs }
const never = { flushEveryMs: 3_600_000 }
const compliance = new Compliance(edge.pool, edge.robots, clock, silentLog(), never)
const traffic = startTestTraffic(edge.pool, { nowMs: edge.nowMs })
after(async () => {
  await traffic.close()
  await compliance.close()
})

/** The lines of a domain, without their hour, once so many visits are stored. */
async function counted(domain: DomainId, visits: number): Promise<string[]> {
  await until(`${visits} visits are counted`, async () => {
    await traffic.flush()
    const sql = 'select sum(visits)::int as visits from traffic_by_hour where domain_id = $1'
    return (await edge.pool.query(sql, [domain])).rows[0].visits >= visits
  })
  return (await storedLines(edge.pool, domain)).map((line) => line.slice('12:00 '.length))
}

it('a crawler of the domain’s own list counts in its category, without a name', async () => {
  await edge.settings({ crawlers: { add: [{ pattern: 'ShopWatch', category: 'seo' }] } }, 'blue.example')
  await edge.verdict('/', { host: 'blue.example', agent: 'ShopWatch/1' })
  await edge.verdict('/', { host: 'blue.example', agent: GOOGLEBOT })
  // Not counted: a request of our own renderer, and one of no domain.
  await edge.verdict('/', { host: 'blue.example', headers: { via: '1.1 prepaint' } })
  await edge.verdict('/', { host: 'nobody.example' })
  await edge.verdict('/gone', { host: 'blue.example', headers: { via: '1.1 cdn.example' } })
  const lines = ['search Googlebot hit 1', 'search Googlebot rendered 1', 'seo other rendered 1']
  assert.deepEqual(await counted(edge.blue, 3), lines)
})

it('pages that were served are counted by device and form; passed requests by none', async () => {
  const domain = await edge.addDomain('phones.example')
  await edge.settings({ devices: 'both', cards: 'on' }, 'phones.example')
  const ask = (path: string, agent: string, headers = {}) =>
    edge.verdict(path, { host: 'phones.example', agent, headers })
  const phone = `Android Mobile ${GOOGLEBOT}`
  for (const agent of [GOOGLEBOT, phone, phone]) await ask('/', agent)
  await ask('/app.js', phone)
  await ask('/', FACEBOOK)
  // A conversion, a hit of the fast lane, and a render.
  for (const path of ['/', '/', '/new']) await ask(path, 'some-agent/1.0', { accept: 'text/markdown' })
  const lines = await counted(domain, 8)
  assert(lines.includes('other other hit 2') && lines.includes('other other rendered 1'))
  const last = await edge.pool.query('select crawler from traffic_last where domain_id = $1', [domain])
  assert.deepEqual(last.rows, [{ crawler: 'Facebook' }])
  const of = { account: edge.account, domains: [domain] }
  const hourMs = edge.nowMs() - (edge.nowMs() % 3_600_000)
  const range = { fromMs: hourMs - 3_600_000, toMs: hourMs + 7_200_000, step: 'hour' } as const
  const { variants, forms } = await readTraffic(edge.pool, of, range)
  const totals = [...variants, ...forms].map(({ name, total }) => `${name} ${total}`)
  assert.deepEqual(totals, ['desktop 5', 'mobile 2', 'html 3', 'markdown 3', 'card 1'])
  const requests = (path: string) => readFormRequests(edge.pool, domain, path as PagePath, edge.nowMs())
  assert.deepEqual(await requests('/'), { html: 3, markdown: 2, card: 1 })
  assert.deepEqual(await requests('/new'), { html: 0, markdown: 1, card: 0 })
})

const read = async (domain: DomainId = edge.red, account = edge.account) => {
  await compliance.flush()
  const range = { fromMs: edge.nowMs() - 86_400_000, toMs: edge.nowMs() + 1, step: 'day' } as const
  const found = await readCompliance(edge.pool, { account, domains: [domain] }, range)
  return found.map((one) => [one.name, one.category, one.purpose, one.forbidden, one.paths])
}

describe('compliance with robots.txt', () => {
  it('counts what each crawler asked for against its own rules, hits too, with three examples', async () => {
    for (const path of ['/', '/private', '/private', '/private?q', '/robots.txt']) await edge.ask(path)
    for (const path of ['/a', '/b', '/c', '/d', '/a']) await edge.ask(path, { agent: GPTBOT })
    await edge.ask('/private/x.js', { agent: 'FriendlyBot/2 (crawler)', method: 'POST' })
    await edge.ask('/private', { agent: PERSON })
    assert.deepEqual(await read(), [
      ['GPTBot', 'ai', 'training', 5, ['/a', '/b', '/c']],
      ['Googlebot', 'search', null, 3, ['/private', '/private?q']],
      ['other', 'other', null, 1, ['/private/x.js']],
    ])
    const ofBlue = (await read(edge.blue)).map(([, , , forbidden]) => forbidden)
    assert.deepEqual(ofBlue, [0, 0], 'asked for nothing that is forbidden')
    assert.deepEqual(await read(edge.red, 0 as AccountId), [], 'of another account')
  })

  it('adds further visits, judged by what is served then, and names the newest paths', async () => {
    const asked = () => fetched.filter((path) => path === '/robots.txt').length
    const before = asked()
    await edge.ask('/private/again')
    edge.wait(600_000)
    robots = 'User-agent: *\nDisallow: /other'
    await edge.ask('/private/later')
    await edge.ask('/other')
    await edge.ask('/a', { agent: GPTBOT })
    const [gptbot, googlebot] = await read()
    assert.deepEqual(gptbot, ['GPTBot', 'ai', 'training', 5, ['/a', '/b', '/c']])
    assert.deepEqual(googlebot, ['Googlebot', 'search', null, 4, ['/other', '/private', '/private?q']])
    assert.equal(asked(), before + 1, 'once in ten minutes')
    await edge.set('is_active = false')
    await edge.ask('/other')
    await edge.set('is_active = true')
    assert.equal((await read())[1]![3], 4, 'an inactive domain has the robots.txt of its origin')
  })

  it('remembers the limit of paths for a domain and for all, and no more; judged ones make room', async () => {
    let lines = 1
    const rules = async () => parseRobots(`User-agent: *\n${'Disallow: /\n'.repeat(lines)}`)
    const written: { crawler: string; visits: number }[] = []
    const query = async ({ values }: { values: string[] }) => void written.push(...JSON.parse(values[2]!))
    const counts = new Compliance({ query } as never, { rules } as never, clock, silentLog(), never)
    const site = (id: number) => ({ id, account: id, name: `d${id}`, isActive: true }) as never
    const ask = (domain: number, path: number) => counts.note(site(domain), 'search', GOOGLEBOT, `/${path}`)
    const flushed = async () => {
      await counts.flush()
      return written.splice(0).reduce((sum, { visits }) => sum + visits, 0)
    }
    for (let path = 0; path <= LIMITS.pathsOfDomain; path++) ask(1, path)
    ask(1, 0)
    assert.equal(await flushed(), LIMITS.pathsOfDomain + 1, 'one path was too many')
    ask(1, LIMITS.pathsOfDomain)
    counts.note(site(1), 'search', GOOGLEBOT, `/${'x'.repeat(LIMITS.pathChars - 1)}`)
    counts.note(site(1), 'search', GOOGLEBOT, `/${'x'.repeat(LIMITS.pathChars)}`)
    assert.equal(await flushed(), 2, 'one path was too long')
    const domains = LIMITS.paths / LIMITS.pathsOfDomain
    for (let domain = 2; domain <= domains + 2; domain++) {
      for (let path = 0; path < LIMITS.pathsOfDomain; path++) ask(domain, path)
    }
    // A slow machine takes a second round.
    assert.equal((await flushed()) + (await flushed()), LIMITS.paths)
    lines = LIMITS.checks
    for (const path of [1, 2, 2]) ask(1, path)
    assert.deepEqual([await flushed(), await flushed(), await flushed()], [1, 2, 0], 'long rules take turns')
    await counts.close()
  })
})
