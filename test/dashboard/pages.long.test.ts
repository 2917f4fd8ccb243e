/** The cache of a domain by keyboard, and hostile pages, of which nothing runs and nothing is fetched. */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { factsOf } from '@prepaint/contract/reading/facts.ts'
import { storableJson } from '@prepaint/pages/inspection/side.ts'
import { keepDigests } from '@prepaint/pages/store/page-digests.ts'
import { pageBody } from '@prepaint/pages/store/stored-page.ts'
import { serve } from '../support/loopback.ts'
import { troubledRecord } from '../support/render-record.ts'
import { elements, openScreens, until } from './open-dashboard.ts'

const SITE = 'shop.example.com' as DomainName
const HOSTILE = '/hostile' as PagePath
/** Sets `window.ran` if it is run or parsed as markup. */
const RAN = `<img src=x onerror="window.ran = 1"><script>window.ran = 1</script>`

let shop: DomainId
const fetched: string[] = []

/** A page of which every part is hostile; `word` differs between versions. */
function hostilePage(url: string, word: string): string {
  const text = RAN.replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const value = text.replaceAll('"', '&quot;')
  return `<!DOCTYPE html><html lang="${value}"><head><title>${text}</title><base href="${url}/">
    <meta name="description" content="${value}"><meta name="robots" content="${value}">
    <meta property="og:title" content="${value}"><meta property="og:image" content="${url}/card.png">
    <link rel="canonical" href="${url}/canonical"><link rel="stylesheet" href="${url}/style.css">
    <meta http-equiv="refresh" content="0;url=${url}/refresh">
    <script type="application/ld+json">{"@type": "${RAN.replaceAll('"', "'")}"}</script></head>
    <body onload="window.ran = 1">${RAN}<h1>${text}</h1><p>${word}</p><img src="${url}/picture.png">
    <iframe src="${url}/frame"></iframe><a href="javascript:window.ran=1">x</a>
    <a href="https://x.example/${value}">${text}</a><svg onload="window.ran = 1"></svg></body></html>`
}

const { api, page, complaints, run, becomes, open, shows, click, fill } = await openScreens(
  async (api, owner) => {
    const { url, close } = await serve((req, res) => {
      fetched.push(req.url ?? '')
      res.end()
    })
    after(close)

    shop = (await api.domain(owner, SITE)).id
    for (const word of ['first', 'second']) {
      const html = hostilePage(url, word)
      const { bodyBr, htmlBytes, etag } = await pageBody(html)
      await api.pool.query(
        `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, $2, 200, $3, $4, $5, $6, now())
       on conflict (domain_id, path, variant) do update set body_br = $4, html_bytes = $5, etag = $6`,
        [shop, HOSTILE, JSON.stringify([['link', RAN]]), bodyBr, htmlBytes, etag],
      )
      await keepDigests(api.pool, [{ page: pageId(shop, HOSTILE), customDomain: SITE, html }])
    }
    const trouble = {
      troubles: [{ url: RAN, kind: 'failed' as const, reason: RAN }],
      consoleErrors: { count: 1, texts: [RAN] },
    }
    const side = (word: string) =>
      storableJson({
        status: 200,
        url: `${url}/${RAN}`,
        loadedMs: 1,
        isCut: true,
        pictures: 1,
        requests: { made: 1, blocked: 0, failed: 1 },
        ...trouble,
        facts: factsOf(hostilePage(url, word), `https://${SITE}${HOSTILE}`),
      })
    const picture = `<svg xmlns="http://www.w3.org/2000/svg" onload="window.ran = 1">${RAN}</svg>`
    await api.pool.query(
      `insert into inspection (domain_id, path, state, finished_at, crawler, person, crawler_picture, person_picture)
     values ($1, $2, 'done', now(), $3, $4, $5, $5)`,
      [shop, HOSTILE, side('crawler'), side('person'), Buffer.from(picture)],
    )
    await api.pool.query(
      `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record)
     values ($1, $2, gen_random_uuid(), 'timed-out', $3, 5, 7, $4)`,
      [shop, HOSTILE, RAN, troubledRecord(trouble)],
    )
    await api.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select $1, '/p/' || lpad(n::text, 5, '0'), case when n = 600 then 404 else 200 end, '[]', '\\x00', n, 'e', now()
       from generate_series(1, 3000) n`,
      [shop],
    )
    await api.pool.query(
      `insert into last_render values ($1, '/p/00500', 'timed-out', now()), ($1, '/p/00501', 'rendered', now())`,
      [shop],
    )
  },
)

const { isCleanEverywhere } = elements(page)
const counted = async (what: string) => (await api.database.column(`select 1 from ${what}`)).length

describe('a hostile page', { timeout: 300_000 }, () => {
  for (const view of ['compare', 'facts', 'source', 'renders', 'history', 'preview']) {
    it(`${view}: is shown as text, runs nothing and fetches nothing`, async () => {
      fetched.length = 0
      await open(`/domains/${SITE}/pages?path=${HOSTILE}&view=${view}`)
      await shows('window.ran')
      const found = await run<Record<string, unknown>>(`({
        ran: 'ran' in window,
        frames: document.querySelectorAll('iframe, object, embed, base').length,
        strange: [...document.querySelectorAll('main [src], main link, main script')]
          .filter((each) => new URL(each.src ?? each.href, location.href).origin !== location.origin).length,
        handlers: document.querySelectorAll('main [onerror], main [onload]').length,
        links: [...document.querySelectorAll('main a')].filter((each) => each.protocol === 'javascript:').length,
        at: location.pathname,
      })`)
      const nothing = { frames: 0, strange: 0, handlers: 0, links: 0, at: `/domains/${SITE}/pages` }
      assert.deepEqual(found, { ran: false, ...nothing })
      assert.deepEqual(fetched, [])
    })
  }

  // Proves decided "Page details"
  it('its source is text to the browser, too', async () => {
    fetched.length = 0
    await run(`setTimeout(() => { location.href = '/api/domains/${SITE}/pages/source?path=${HOSTILE}' })`)
    await becomes(`location.pathname.endsWith('/source') && document.readyState === 'complete'`)
    const found = `[document.contentType, 'ran' in window, document.body.children.length].join()`
    assert.equal(await run(found), 'text/plain,false,1')
    assert.deepEqual(fetched, [])
  })
})

describe('the cache of a domain', { timeout: 300_000 }, () => {
  const grid = `document.querySelector('[role=grid]')`
  const press = (key: string, more = '') =>
    run(
      `${grid}.focus(), ${grid}.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}', bubbles: true, cancelable: true ${more} }))`,
    )
  const openCache = async () => {
    await open(`/domains/${SITE}/pages`)
    await becomes(`${grid} !== null`)
  }

  const rows = () =>
    run<string[]>(`[...document.querySelectorAll('[role=row] a')].map((each) => each.textContent)`)
  const queued = (path: string) => counted(`job where state = 'queued' and path = '${path}'`)

  // Proves decided "Filters of pages"
  it('filters stand in the address, with the count of each value, and can be cleared', async () => {
    complaints.length = 0
    await open(`/domains/${SITE}/cache?outcome=timed-out`)
    await becomes(`${grid} !== null`)
    await shows('1 page')
    assert.deepEqual(await rows(), ['/p/00500'])
    await becomes(
      `[...document.querySelectorAll('option')].some((each) => each.textContent === 'Failed (1)')`,
    )
    await fill('Last render', '')
    await becomes(`location.search === ''`)
    await shows('of 3,001 pages')
    await becomes(`[...document.querySelectorAll('option')].some((each) => each.textContent === '404 (1)')`)
    await fill('Status', '404')
    await becomes(`location.search === '?status=404'`)
    await becomes(`document.querySelectorAll('[role=row] a').length === 1`)
    assert.deepEqual(await rows(), ['/p/00600'])
    await isCleanEverywhere()
    await fill('Freshness', 'gone')
    await shows('No page with status 404 and freshness gone')
    await isCleanEverywhere()
    await click('Show all')
    await becomes(`location.search === ''`)
    assert.deepEqual(complaints, [])
  })

  // Proves decided "Pages that are rendered again"
  it('pages are rendered again while they are served: one by its button or key, and all that a filter finds', async () => {
    await open(`/domains/${SITE}/cache?status=404`)
    await becomes(`${grid} !== null`)
    await click('Render 1 page again')
    await shows('served until the new one is stored')
    await click('Render again')
    await until('it is queued', async () => (await queued('/p/00600')) === 1)
    await open(`/domains/${SITE}/cache?outcome=timed-out`)
    await becomes(`${grid} !== null`)
    await click('Render again: /p/00500')
    await shows('Rendering /p/00500 again. Crawlers get the stored page until then.')
    await until('it is queued', async () => (await queued('/p/00500')) === 1)
    await open(`/domains/${SITE}/cache?outcome=rendered`)
    await becomes(`${grid} !== null`)
    await press('r')
    await until('it is queued', async () => (await queued('/p/00501')) === 1)
    assert.equal(await counted(`page where path in ('/p/00500', '/p/00501', '/p/00600')`), 3)
    await api.pool.query('delete from job')
  })

  it('the menu of a page compares, and deletes after a question', async () => {
    await open(`/domains/${SITE}/cache?search=%2Fp%2F02999`)
    await becomes(`${grid} !== null`)
    await press('m')
    await becomes(`document.querySelector('[role=menu]') !== null`)
    await click('Delete (purge)')
    await shows('1 cached page, and the cached redirects')
    await click('Cancel')
    await click('More for /p/02999')
    await click('Compare')
    await becomes(`location.pathname.endsWith('/pages') && location.search.includes('02999')`)
  })

  it('only the rows in sight of 3,000 are in the document; more load on scrolling', async () => {
    complaints.length = 0
    await openCache()
    const rows = () => run<number>(`document.querySelectorAll('[role=row]').length`)
    assert((await rows()) < 60, `${await rows()} rows`)
    await becomes(`${grid}.getAttribute('aria-rowcount') === '3002'`)
    await shows('200 of 3,001 pages loaded')
    await press('End')
    await shows('400 of 3,001')
    assert((await rows()) < 60, `${await rows()} rows`)
    assert.deepEqual(complaints, [])
  })

  it('pages are selected and purged by keyboard, after a dialog that says what happens', async () => {
    await openCache()
    for (const key of ['Home', 'ArrowDown']) await press(key)
    await press(' ')
    await press('ArrowDown', ', shiftKey: true')
    await shows(', 2 selected')
    await click('Purge 2 pages')
    await shows('2 cached pages, and the cached redirects')
    await click('Purge')
    await becomes(`document.querySelector('[role=dialog]') === null`)
    await until('they are gone', async () => (await counted('page')) === 2_999)
    assert.equal(await counted(`page where path in ('/p/00001', '/p/00002')`), 0)
  })

  it('all matches of a search, loaded or not, are refreshed after a dialog that shows the quota', async () => {
    await openCache()
    await fill('Search', '/p/02')
    await shows('of 1,000 pages')
    await press('a', ', ctrlKey: true')
    await shows('1,000 selected')
    await click('Refresh 1,000 pages')
    await shows('Up to 1,000 renders count against the month')
    await click('Refresh')
    await until('they are queued', async () => (await counted(`job where state = 'queued'`)) === 1_000)
  })
})
