import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { GOOGLEBOT, openEdge, PERSON } from '../../../test/support/edge.ts'
import { GPTBOT } from '../../../test/support/traffic.ts'
import type { AccountId, DomainId } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { parseRobots } from '../../sitemaps/robots-rules.ts'
import { Compliance, LIMITS, readCompliance } from './compliance.ts'

let robots = 'User-agent: *\nDisallow: /private\n\nUser-agent: GPTBot\nDisallow: /'
const fetched: string[] = []
const edge = await openEdge({
  origin: (req, res) => {
    fetched.push(req.url!)
    res.end(req.url === '/robots.txt' ? robots : 'a page')
  },
  parts: {
    answered: ({ headers, url }, { domain, crawler }) => {
      if (domain !== null && crawler !== null) {
        compliance.note(domain, crawler, headers['user-agent']!, url!)
      }
    },
  },
})
const parts = { clock: { nowMs: edge.nowMs }, log: silentLog(), flushEveryMs: 3_600_000 }
const compliance = new Compliance({ ...parts, pool: edge.pool, robots: edge.edge.robots })
after(() => compliance.close())

const read = async (domain: DomainId = edge.red, account = edge.account) => {
  await compliance.flush()
  const range = { fromMs: edge.nowMs() - 86_400_000, toMs: edge.nowMs() + 1, step: 'day' } as const
  const found = await readCompliance(edge.pool, { account, domain }, range)
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
    assert.deepEqual(await read(edge.blue), [])
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
    let judged = 0
    let lines = 1
    const rules = async () => {
      judged++
      return parseRobots(`User-agent: *\n${'Disallow: /\n'.repeat(lines)}`)
    }
    const written: { crawler: string; visits: number }[] = []
    const query = async ({ values }: { values: string[] }) => void written.push(...JSON.parse(values[2]!))
    const counts = new Compliance({ ...parts, pool: { query } as never, robots: { rules } })
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
    assert.equal(judged, 2 + domains + 1, 'without visits no rules are read')
    lines = LIMITS.checks
    for (const path of [1, 2, 2]) ask(1, path)
    assert.deepEqual([await flushed(), await flushed(), await flushed()], [1, 2, 0], 'long rules take turns')
    await counts.close()
  })
})
