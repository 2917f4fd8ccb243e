import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DIGEST_FACTS, factsOf, WHOLE_FACTS } from '@prepaint/contract/reading/facts.ts'
import { visitorFor } from '@prepaint/contract/settings/devices.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../test/support/condition.ts'
import { says } from '../../../../test/support/public-error.ts'
import { HOME, openQueue } from '../../../../test/support/queue.ts'
import { InspectionWorker, type Look, type Looked } from './inspection-worker.ts'
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

const LOOKED: Looked = {
  ...{ status: 200, url: 'https://red.example/', loadedMs: 5, isCut: false, pictures: 1, troubles: [] },
  ...{ requests: { made: 1, blocked: 0, failed: 0 }, consoleErrors: { count: 0, texts: [] } },
  picture: Buffer.from('picture'),
  html: '<title>A person\u0000\ud800</title>',
}

const queue = await openQueue()
const { pool } = queue
const listener = await queue.listener()
const [red, blue] = [await queue.domain(), await queue.domain()]
const owner = await queue.accountOf(red)
await queue.set(red, { render: { locale: 'de-CH' } })
beforeEach(() => pool.query('truncate inspection, rate, page, redirect, task cascade'))

const ask = (path: string, account = owner, domain = red) =>
  requestInspection(pool, account, pageId(domain, path as PagePath))
function work(look: Look, leaseMs = 30_000): TaskRunner {
  const tasks = new TaskRunner(pool, listener, silentLog(), { pollMs: 50, leaseMs })
  tasks.add(new InspectionWorker(pool, queue.bodies, look, null))
  tasks.start()
  return tasks
}
const found = async (id: string) => (await findInspection(pool, red, id))!
const done = (id: string) => until('it is done', async () => (await found(id)).state === 'done')
const store = (of: string, html: string) =>
  pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, $2, 404, '[]', $3, 1, 'e', now())`,
    [red, of, brotliCompressSync(html)],
  )

/** Looks until it is told to end. */
function endless() {
  const signals: AbortSignal[] = []
  const look: Look = ({ signal }) => {
    signals.push(signal)
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  return { look, signals, began: () => until('it is looked at', () => signals.length > 0) }
}

describe('asking for an inspection', () => {
  it('whoever asks for the same page joins; the newest of a page is found again', async () => {
    const first = await ask('/')
    assert.equal((await ask('/')).id, first.id)
    assert.notEqual((await ask('/b')).id, first.id)
    assert.equal((await lastInspection(pool, pageId(red, HOME)))?.id, first.id)
    assert.equal(await lastInspection(pool, pageId(blue, HOME)), null)
  })

  // Proves decided "Inspections"
  it('so many at once, and not one more; another account has its own', async () => {
    const paths = Array.from({ length: INSPECTIONS_OPEN * 2 }, (_, n) => `/${n}`)
    const asked = await Promise.allSettled(paths.map((path) => ask(path)))
    assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, INSPECTIONS_OPEN)
    await assert.rejects(ask('/more'), says('Too many inspections at once (5 per account)'))
    await ask('/more', await queue.accountOf(blue), blue)
  })

  // Proves decided "Inspections"
  it('so many an hour, and not one more, until the first is an hour old', async () => {
    await pool.query(
      `insert into rate
       select 'account ' || $1::integer, 'inspection', array_agg(now() - interval '50 minutes'), now() + interval '10 minutes'
         from generate_series(1, $2)`,
      [owner, INSPECTIONS_AN_HOUR - 1],
    )
    await ask('/last')
    const isTold = ({ code, headers }: { code: string; headers: Record<string, string> }) => {
      const seconds = Number(headers['Retry-After'])
      return code === 'inspection_rate' && seconds > 500 && seconds <= 600
    }
    await assert.rejects(ask('/more'), isTold)
    // What was looked at is forgotten with its page, and not that it was asked for.
    await queue.purge(red, { kind: 'all' })
    await assert.rejects(ask('/more'), isTold)
    await pool.query(`update rate set moments[1] = now() - interval '61 minutes'`)
    await ask('/more')
  })

  it('what the last ones found is kept, older findings are not; all go after a day', async () => {
    await pool.query(
      `insert into inspection (domain_id, path, state, requested_at, person, person_picture)
       select $1, '/' || n, 'done', now() - n * interval '2 minutes' - interval '70 minutes', '{}', '\\x01'
         from generate_series(1, 25) n`,
      [red],
    )
    await ask('/new')
    const sql = 'select path from inspection where person is not null and person_picture is not null'
    const kept = await queue.column(sql)
    assert.equal(kept.length, INSPECTIONS_WITH_FINDINGS - 1)
    assert(!kept.includes('/25'))
    await pool.query(
      `update inspection set requested_at = now() - interval '24 hours 1 minute' where path in ('/1', '/2')`,
    )
    assert.equal(await removeOldInspections(pool), 2)
  })
})

describe('inspections at a node', () => {
  // Proves decided "Inspections"
  it('both sides are looked at: the stored page as it is given, and what a person gets', async () => {
    await store('/', '<title>A crawler</title>')
    const asked: Parameters<Look>[0][] = []
    const worker = work(async (request) => {
      asked.push(request)
      return request.given === undefined ? LOOKED : { ...LOOKED, html: null }
    })
    const { id } = await ask('/')
    await done(id)
    await worker.close()
    const page = { status: 404, html: '<title>A crawler</title>' }
    const site = [visitorFor('desktop', { locale: 'de-CH' }), 'd1.example', 'http://127.0.0.1:1']
    assert.deepEqual(
      asked.map(({ given, visitor, customDomain, originUrl }) => [given, visitor, customDomain, originUrl]),
      [
        [page, ...site],
        [undefined, ...site],
      ],
    )
    const { crawler, person, finishedAt } = await found(id)
    assert(crawler !== null && 'facts' in crawler && person !== null && 'facts' in person)
    assert.equal(crawler.facts?.title, 'A crawler')
    assert.equal(person.facts?.title, 'A person\ufffd')
    assert(finishedAt instanceof Date)
    for (const side of ['crawler', 'person'] as const) {
      assert.equal(String(await findPicture(pool, red, id, side)), 'picture')
      assert.equal(await findPicture(pool, blue, id, side), null)
    }
    assert.equal(await findInspection(pool, blue, id), null)
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
      const pictures = request.given.html.includes('missing') ? 0 : 1
      return { ...LOOKED, pictures, picture: Buffer.from('card') }
    })
    const card = async (of: string) => {
      const { id } = await ask(of)
      await done(id)
      assert(!JSON.stringify(await found(id)).includes('"card"'))
      return String(await findPicture(pool, red, id, 'card'))
    }
    assert.deepEqual([await card('/'), await card('/none'), await card('/file')], ['card', 'null', 'null'])
    await worker.close()
    assert.equal(given.length, 2)
    assert.match(given[0]!, /<img src="https:\/\/pics\.example\/a\.png\?x=%22%3E%3Cscript%3E">/)
  })

  it('what cannot be looked at says why, and what is not stored is no side', async () => {
    const worker = work(() => Promise.reject(new Error('net::ERR_TUNNEL_CONNECTION_FAILED')))
    const { id } = await ask('/none')
    await done(id)
    await worker.close()
    const { crawler, person } = await found(id)
    assert.deepEqual([crawler, person], [null, { reason: 'net::ERR_TUNNEL_CONNECTION_FAILED' }])
  })

  it('its domain is deleted, or the page purged: the look ends', async () => {
    const { look, signals, began } = endless()
    const worker = work(look, 1_000)
    const { id } = await ask('/')
    await began()
    await queue.purge(red, { kind: 'path', path: HOME })
    await until('the look has ended', () => signals[0]!.aborted)
    await worker.close()
    assert.equal(await findInspection(pool, red, id), null)
  })

  it('a node that ends gives back what it is at, and another takes it up; a dead one’s lease ends', async () => {
    const { look, began } = endless()
    const slow = work(look)
    const { id } = await ask('/')
    await began()
    await slow.close()
    assert.equal((await found(id)).state, 'queued')
    const died = (id: string, attempts: number) =>
      pool.query(
        `with running as (update inspection set state = 'running' where id = $1)
         insert into task (kind, key, lease, lease_until, failures)
         values ('inspection', $1, gen_random_uuid(), now() - interval '1 second', $2 - 1)
         on conflict (kind, key) do update set
           lease = excluded.lease, lease_until = excluded.lease_until, failures = excluded.failures`,
        [id, attempts],
      )
    await died(id, 1)
    const other = work(async () => LOOKED)
    await done(id)
    await died(id, 2)
    await until('it has failed', async () => (await found(id)).state === 'failed')
    assert.match((await found(id)).reason ?? '', /died/)
    await other.close()
  })
})

const URL_OF = 'https://shop.example/products/1?x=1'
const of = (html: string) => factsOf(html, URL_OF)

describe('what a page says', () => {
  it('the facts of a page hold the title, language, robots, canonical and first social tags of its head', () => {
    const facts = of(`<!DOCTYPE html><html lang="de"><head><title>Rakes &amp; more</title>
      <meta name="description" content="Every &quot;rake&quot; there is">
      <meta name="robots" content="noindex"><link rel="canonical" href="/products/1">
      <meta property="og:title" content="OG"><meta property="og:title" content="second">
      <meta name="twitter:card" content="summary"><meta name="generator" content="x">
      </head><body></body></html>`)
    assert.partialDeepStrictEqual(facts, {
      ...{ title: 'Rakes & more', description: 'Every "rake" there is', robots: 'noindex', lang: 'de' },
      canonical: 'https://shop.example/products/1',
      social: { 'og:title': 'OG', 'twitter:card': 'summary' },
    })
  })

  it('its text, a line for each block, without what nobody is shown', () => {
    const facts = of(`<body><h1>A <em>great</em> rake</h1><script>var no = "<p>script</p>"</script>
      <style>p { no: 1 }</style><noscript><p>no script</p></noscript><template><p>later</p></template>
      <!-- <p>comment</p> --><p>one
        two<br>three</p><ul><li>four</li><li>five</li></ul>6 &lt; 7
      <x-y><template shadowrootmode="open"><p>inside</p></template></x-y></body>`)
    const lines = ['A great rake', 'one two', 'three', 'four', 'five', '6 < 7', 'inside']
    assert.deepEqual(facts.text, lines)
    assert.deepEqual(facts.headings, ['h1: A great rake'])
    assert.equal(facts.textChars, facts.text.join('').length)
  })

  it('its links, each once, with what they say', () => {
    const facts = of(`<a href="/a">First</a><a href="/a#part">again</a><a href="b"><img alt="a picture"></a>
      <a href="https://other.example/x?y=1">away</a><a href="javascript:alert(1)">no</a>
      <a href="mailto:a@b.example">no</a><a>none</a><a href="http://[">broken</a>`)
    assert.deepEqual(facts.links, [
      { href: '/a', text: 'First' },
      { href: '/products/b', text: 'a picture' },
      { href: 'https://other.example/x?y=1', text: 'away' },
    ])
    assert.equal(facts.linkCount, 4)
    assert.equal(of('<base href="/deep/"><a href="b">x</a>').links[0]?.href, '/deep/b')
  })

  it('its structured data, also where it is broken', () => {
    const facts = of(`<script type="application/ld+json">{"@type":"Product","name":"<b>"}</script>
      <script type="application/ld+json">{"@graph":[{"@type":["WebSite","Thing"]},{"@type":"FAQPage"}]}</script>
      <script type="application/ld+json">{"@type": oops}</script>
      <div itemscope="" itemtype="https://schema.org/Recipe"></div>`)
    assert.deepEqual(
      facts.structured.map(({ kind, types, isBroken }) => [kind, types, isBroken]),
      [
        ['json-ld', ['Product'], false],
        ['json-ld', ['WebSite', 'Thing', 'FAQPage'], false],
        ['json-ld', [], true],
        ['microdata', ['https://schema.org/Recipe'], false],
      ],
    )
    assert.equal(facts.structured[0]?.json, '{\n  "@type": "Product",\n  "name": "<b>"\n}')
  })

  it('is bounded at every point, exactly', () => {
    const words = (chars: number) => of(`<p>${'x'.repeat(chars)}</p>`).text.join('').length
    assert.equal(words(WHOLE_FACTS.textChars), WHOLE_FACTS.textChars)
    assert.equal(words(WHOLE_FACTS.textChars + 1), WHOLE_FACTS.textChars)
    const links = (count: number) =>
      of(Array.from({ length: count }, (_, n) => `<a href="/${n}">x</a>`).join('')).links.length
    assert.equal(links(WHOLE_FACTS.links), WHOLE_FACTS.links)
    assert.equal(links(WHOLE_FACTS.links + 1), WHOLE_FACTS.links)
    const json = `<script type="application/ld+json">"${'x'.repeat(30_000)}"</script>`
    const { structured } = of(json.repeat(30))
    assert.equal(structured.map(({ json }) => json).join('').length, WHOLE_FACTS.structuredChars)
    const metas = Array.from({ length: 60 }, (_, n) => `<meta property="og:x${n}" content="y">`).join('')
    assert.equal(Object.keys(of(metas).social).length, 40)
    const digest = factsOf(
      `<title>${'t'.repeat(9_000)}</title><p>${'x'.repeat(99_000)}</p>${json}`,
      URL_OF,
      DIGEST_FACTS,
    )
    assert(JSON.stringify(digest).length < 40_000)
  })

  it('no document costs more than its length', () => {
    const hostile = [
      '<'.repeat(1_000_000),
      '<a href="'.repeat(200_000),
      '<script>'.repeat(200_000),
      `${'<i>'.repeat(300_000)}${'</b>'.repeat(300_000)}`,
      '<!--'.repeat(300_000),
      `<script type="application/ld+json">${'['.repeat(500_000)}</script>`,
      `<p>${' '.repeat(2_000_000)}</p>`,
      '<template shadowrootmode="open">'.repeat(100_000),
    ]
    for (const html of hostile) assert(JSON.stringify(of(html)).length < 2_000_000, html.slice(0, 20))
  })
})
