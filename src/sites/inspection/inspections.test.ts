import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { until as untilWithin } from '../../../test/support/condition.ts'
import { says } from '../../../test/support/public-error.ts'
import { openQueue } from '../../../test/support/queue.ts'
import { transaction } from '../../db/transaction.ts'
import type { AccountId, DomainId, DomainName, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { pageId } from '../../store/page-id.ts'
import { purgePages } from '../../store/purge.ts'
import { visitorFor } from '../devices.ts'
import { type InspectionDeps, type Looked, startInspectionWorker } from './inspection-worker.ts'
import {
  findInspection,
  findPicture,
  INSPECTIONS_AN_HOUR,
  INSPECTIONS_OPEN,
  INSPECTIONS_WITH_FINDINGS,
  lastInspection,
  removeOldInspections,
  requestInspection,
} from './inspections.ts'

const [RED, BLUE] = [1, 2] as AccountId[] as [AccountId, AccountId]
const [RED_SITE, BLUE_SITE] = [1, 2] as DomainId[] as [DomainId, DomainId]
const RED_NAME = 'red.example' as DomainName
const path = (text: string) => text as PagePath
const LOOKED: Looked = {
  ...{ status: 200, url: 'https://red.example/', loadedMs: 5, isCut: false, pictures: 1, troubles: [] },
  ...{ requests: { made: 1, blocked: 0, failed: 0 }, consoleErrors: { count: 0, texts: [] } },
  picture: Buffer.from('picture'),
  html: '<title>A person\u0000\ud800</title>',
}

/** However busy the machine is. */
const until = (what: string, probe: () => Promise<boolean>) => untilWithin(what, probe, 60_000)

const database = await openQueue()
const listener = await database.listener()
await database.pool.query(
  `insert into account (email, plan) values ('r@example.com', 'pro'), ('b@example.com', 'pro')`,
)
await database.pool.query(
  `insert into domain (account_id, custom_domain, origin_url, settings)
   values (1, 'red.example', 'http://o.example', '{"render": {"locale": "de-CH"}}'),
          (2, 'blue.example', 'http://o.example', '{}')`,
)
beforeEach(() => database.pool.query('truncate inspection, account_rate, page, redirect'))

const ask = (account: AccountId, domain: DomainId, of: string) =>
  requestInspection(database.pool, account, pageId(domain, path(of)))
const work = (
  look: InspectionDeps['look'],
  node = 'n1',
  notifications: InspectionDeps['notifications'] = listener,
) =>
  startInspectionWorker({ pool: database.pool, notifications, look, log: silentLog() }, { node, pollMs: 50 })
const found = async (id: string) => (await findInspection(database.pool, RED_SITE, id))!
const store = (of: string, html: string) =>
  database.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values (1, $1, 404, '[]', $2, 1, 'e', now())`,
    [of, brotliCompressSync(html)],
  )

describe('asking for an inspection', () => {
  it('whoever asks for the same page joins; the newest of a page is found again', async () => {
    const first = await ask(RED, RED_SITE, '/')
    assert.equal((await ask(RED, RED_SITE, '/')).id, first.id)
    const other = await ask(RED, RED_SITE, '/b')
    assert.notEqual(other.id, first.id)
    assert.equal((await lastInspection(database.pool, pageId(RED_SITE, path('/'))))?.id, first.id)
    assert.equal(await lastInspection(database.pool, pageId(BLUE_SITE, path('/'))), null)
  })

  // Proves decided "Inspections"
  it('so many at once, and not one more; another account has its own', async () => {
    const asked = await Promise.allSettled(
      Array.from({ length: INSPECTIONS_OPEN * 2 }, (_, n) => ask(RED, RED_SITE, `/${n}`)),
    )
    assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, INSPECTIONS_OPEN)
    await assert.rejects(ask(RED, RED_SITE, '/more'), says('Too many inspections at once (5 per account)'))
    await ask(BLUE, BLUE_SITE, '/more')
  })

  // Proves decided "Inspections"
  it('so many an hour, and not one more, until the first is an hour old', async () => {
    await database.pool.query(
      `insert into account_rate
       select $1, 'inspection', array_agg(now() - interval '50 minutes') from generate_series(1, $2)`,
      [RED, INSPECTIONS_AN_HOUR - 1],
    )
    await ask(RED, RED_SITE, '/last')
    await assert.rejects(
      ask(RED, RED_SITE, '/more'),
      (error: { code: string; headers: Record<string, string> }) => {
        const seconds = Number(error.headers['Retry-After'])
        return error.code === 'inspection_rate' && seconds > 500 && seconds <= 600
      },
    )
    // What was looked at is forgotten with its page, and not that it was asked for.
    await transaction(database.pool, (client) => purgePages(client, RED_SITE, { kind: 'all' }))
    await assert.rejects(ask(RED, RED_SITE, '/more'), { code: 'inspection_rate' })
    await database.pool.query(
      `update account_rate set moments[1] = now() - interval '61 minutes' where account_id = $1`,
      [RED],
    )
    await ask(RED, RED_SITE, '/more')
  })

  it('what the last ones found is kept, older findings are not; all go after a day', async () => {
    await database.pool.query(
      `insert into inspection (domain_id, path, state, requested_at, person, person_picture)
       select 1, '/' || n, 'done', now() - n * interval '2 minutes' - interval '70 minutes', '{}', '\\x01'
         from generate_series(1, 25) n`,
    )
    await ask(RED, RED_SITE, '/new')
    const sql = 'select path from inspection where person is not null and person_picture is not null'
    const kept = await database.column(sql)
    assert.equal(kept.length, INSPECTIONS_WITH_FINDINGS - 1)
    assert(!kept.includes('/25'))
    await database.pool.query(
      `update inspection set requested_at = now() - interval '24 hours 1 minute' where path in ('/1', '/2')`,
    )
    assert.equal(await removeOldInspections(database.pool), 2)
  })
})

describe('inspections at a node', () => {
  // Proves decided "Inspections"
  it('both sides are looked at: the stored page as it is given, and what a person gets', async () => {
    await store('/', '<title>A crawler</title>')
    const asked: Parameters<InspectionDeps['look']>[0][] = []
    const worker = work(async (request) => {
      asked.push(request)
      return request.given === undefined ? LOOKED : { ...LOOKED, html: null }
    })
    const { id } = await ask(RED, RED_SITE, '/')
    await until('it is done', async () => (await found(id)).state === 'done')
    await worker.close()
    assert.deepEqual(
      asked.map(({ given, visitor, customDomain, originUrl }) => [given, visitor, customDomain, originUrl]),
      [{ status: 404, html: '<title>A crawler</title>' }, undefined].map((given) => [
        ...[given, visitorFor('desktop', { locale: 'de-CH' }), RED_NAME, 'http://o.example'],
      ]),
    )
    const { crawler, person, finishedAt } = await found(id)
    assert(crawler !== null && 'facts' in crawler && person !== null && 'facts' in person)
    assert.equal(crawler.facts?.title, 'A crawler')
    assert.equal(person.facts?.title, 'A person\ufffd')
    assert(finishedAt instanceof Date)
    for (const side of ['crawler', 'person'] as const) {
      assert.equal(String(await findPicture(database.pool, RED_SITE, id, side)), 'picture')
      assert.equal(await findPicture(database.pool, BLUE_SITE, id, side), null)
    }
    assert.equal(await findInspection(database.pool, BLUE_SITE, id), null)
  })

  it('the picture of a link preview is drawn anew by our browser, from the address that the page names', async () => {
    const url = `https://pics.example/a.png?x="><script>`
    await store('/', `<meta property="og:image" content="${url.replaceAll('"', '&quot;')}">`)
    await store('/none', '<meta property="og:image" content="https://pics.example/missing.png">')
    await store('/file', '<meta property="og:image" content="file:///etc/passwd">')
    const given: string[] = []
    const worker = work(async (request) => {
      if (request.given?.html.includes('object-fit') !== true) return LOOKED
      given.push(request.given.html)
      return {
        ...LOOKED,
        pictures: request.given.html.includes('missing') ? 0 : 1,
        picture: Buffer.from('card'),
      }
    })
    const card = async (of: string) => {
      const { id } = await ask(RED, RED_SITE, of)
      await until('it is done', async () => (await found(id)).state === 'done')
      assert(!JSON.stringify(await found(id)).includes('"card"'))
      return String(await findPicture(database.pool, RED_SITE, id, 'card'))
    }
    assert.deepEqual([await card('/'), await card('/none'), await card('/file')], ['card', 'null', 'null'])
    await worker.close()
    assert.equal(given.length, 2)
    assert.match(given[0]!, /<img src="https:\/\/pics\.example\/a\.png\?x=%22%3E%3Cscript%3E">/)
  })

  it('what cannot be looked at says why, and what is not stored is no side', async () => {
    const worker = work(async () => {
      throw new Error('net::ERR_TUNNEL_CONNECTION_FAILED')
    })
    const { id } = await ask(RED, RED_SITE, '/none')
    await until('it is done', async () => (await found(id)).state === 'done')
    await worker.close()
    const { crawler, person } = await found(id)
    assert.deepEqual([crawler, person], [null, { reason: 'net::ERR_TUNNEL_CONNECTION_FAILED' }])
  })

  it('its domain is deleted, or the page purged: the look ends', async () => {
    const aborted: unknown[] = []
    const { promise: began, resolve: begin } = Promise.withResolvers<void>()
    const worker = work(({ signal }) => {
      begin()
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(signal.reason)
          reject(signal.reason)
        })
      })
    })
    const { id } = await ask(RED, RED_SITE, '/')
    await began
    await transaction(database.pool, (client) =>
      purgePages(client, RED_SITE, { kind: 'path', path: path('/') }),
    )
    await until('the look has ended', async () => aborted.length > 0)
    await worker.close()
    assert.equal(await findInspection(database.pool, RED_SITE, id), null)
  })

  it('a node that ends gives back what it is at, and another takes it up; a dead one’s lease ends', async () => {
    const { promise: began, resolve: begin } = Promise.withResolvers<void>()
    const slow = work(({ signal }) => {
      begin()
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const { id } = await ask(RED, RED_SITE, '/')
    await began
    await slow.close()
    assert.equal((await found(id)).state, 'queued')
    await database.pool.query(
      `update inspection set state = 'running', node = 'dead', attempts = 1, lease_until = now() - interval '1 second'`,
    )
    const other = work(async () => LOOKED, 'n2')
    await until('it is done', async () => (await found(id)).state === 'done')

    const again = await ask(RED, RED_SITE, '/b')
    await until('it is done', async () => (await found(again.id)).state === 'done')
    await database.pool.query(
      `update inspection set state = 'running', node = 'dead', attempts = 2, lease_until = now() - interval '1 second'
        where id = $1`,
      [again.id],
    )
    await until('it has failed', async () => (await found(again.id)).state === 'failed')
    assert.match((await found(again.id)).reason ?? '', /died/)
    await other.close()
  })

  it('nodes never look at the same one', async () => {
    let looks = 0
    const look = async () => {
      looks++
      return LOOKED
    }
    const workers = ['a', 'b', 'c'].map((node) => work(look, node))
    const asked = await Promise.all(Array.from({ length: 5 }, (_, n) => ask(RED, RED_SITE, `/${n}`)))
    for (const { id } of asked) await until('it is done', async () => (await found(id)).state === 'done')
    for (const worker of workers) await worker.close()
    assert.equal(looks, 5)
  })
})
