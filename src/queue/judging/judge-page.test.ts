/** What a rendered page is compared with: the last good copy, and what is known of pages that do not exist. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HOME, openQueue, RENDERED } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import { transaction } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import type { LastGood } from '../../store/keep-page.ts'
import { pageId } from '../../store/page-id.ts'
import { purgePages } from '../../store/purge.ts'
import { readStored } from '../../store/stored-page.ts'
import { createComplete } from '../jobs/complete.ts'
import { effectOf } from './effect.ts'
import { createPageKeeper, REFUSED_FOR_MS, refusalOf, SHRINK_FROM_CHARS } from './judge-page.ts'
import {
  findingOf,
  isSoft404,
  type Look,
  readsLike,
  WORDS_LIMIT,
  wordsInBoth,
  wordsOf,
  wordsOfPath,
} from './soft-404.ts'

const HOUR = 3_600_000
const queue = await openQueue()
const clock = { atMs: Date.parse('2026-11-15T12:00:00Z'), nowMs: () => clock.atMs }
const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })

/** How a render of the home page ended, with the detail of its job, and the page that is stored then. */
async function render(domain: DomainId, found: RenderOutcome = RENDERED) {
  const job = await queue.running(domain, HOME, 'refresh')
  const { state } = await complete(job, found)
  const sql = 'select outcome, detail from job where id = $1'
  const { outcome, detail } = (await queue.pool.query(sql, [job.id])).rows[0]
  const page = await readStored(queue.pool, pageId(domain, HOME))
  assert(page?.kind === 'page')
  return { end: `${state} ${outcome}`, detail, page }
}

describe('what is refused', () => {
  const LAST: LastGood = {
    status: 200,
    textChars: 900,
    renderedAtMs: 0,
    refusedAtMs: null,
    keepMs: 1_000_000,
  }
  const outcome = (status: number, textChars: number, last: Partial<LastGood> = {}, nowMs = 1) =>
    refusalOf({ status, textChars }, { ...LAST, ...last }, nowMs)?.outcome ?? null

  it('less than a third of the text, of a page that has some', () => {
    assert.equal(outcome(200, 299), 'shrunk')
    assert.equal(outcome(200, 300), null)
    assert.equal(outcome(200, 1, { textChars: SHRINK_FROM_CHARS }), 'shrunk')
    assert.equal(outcome(200, 1, { textChars: SHRINK_FROM_CHARS - 1 }), null)
    assert.equal(outcome(200, 1, { textChars: null }), null)
    assert.equal(refusalOf({ status: 200, textChars: 1 }, null, 1), null)
  })

  it('less text than before where requests stayed unanswered', () => {
    const missing = 'no answer to GET /data'
    const fresh = { status: 200, textChars: 899, missing }
    assert.deepEqual(refusalOf(fresh, LAST, 1), { outcome: 'incomplete', detail: missing })
    assert.equal(refusalOf({ ...fresh, textChars: 900 }, LAST, 1), null)
    assert.equal(refusalOf({ ...fresh, missing: null }, LAST, 1), null)
    assert.equal(refusalOf(fresh, null, 1), null)
    assert.equal(refusalOf(fresh, { ...LAST, refusedAtMs: 0 }, REFUSED_FOR_MS), null)
  })

  it('an error status where there was none; but a page that is gone is gone', () => {
    assert.equal(outcome(403, 900), 'origin-error')
    assert.equal(outcome(404, 1), null)
    assert.equal(outcome(410, 1), null)
    assert.equal(outcome(403, 1, { status: 403 }), null)
  })
})

describe('a render that is far worse than the last good copy', () => {
  const page = (text: string, status = 200): RenderOutcome => ({
    ...{ kind: 'rendered', status, headers: [], html: `<html><body><p>${text}</p></body></html>` },
  })
  const FULL = page('A whole page of words. '.repeat(60))
  const SHELL = page('Header and footer.')
  const end = async (domain: DomainId, found: RenderOutcome) => (await render(domain, found)).end

  // Proves decided "Bad renders"
  it('leaves it, is not counted, and why is written with the job', async () => {
    const domain = await queue.domain()
    const whole = await render(domain, FULL)
    assert.equal(whole.end, 'done rendered')
    const shell = await render(domain, SHELL)
    assert.match(shell.detail, /^18 characters of text; the last good copy has 13\d\d$/)
    const forbidden = await render(domain, { ...FULL, status: 403 } as RenderOutcome)
    assert.deepEqual([shell.end, forbidden.end], ['failed shrunk', 'failed origin-error'])
    assert.equal(forbidden.detail, 'status 403; the last good copy has 200')
    assert.equal(forbidden.page.htmlBytes, whole.page.htmlBytes)
    assert.equal(await queue.renders(domain), 1)
  })

  // Proves decided "Bad renders"
  it('is taken the second time, when the page really shrank', async () => {
    const domain = await queue.domain()
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += REFUSED_FOR_MS - 1
    assert.equal(await end(domain, SHELL), 'failed shrunk', 'the first doubt counts')
    clock.atMs += 1
    assert.equal(await end(domain, SHELL), 'done rendered')
  })

  it('is refused anew after a good render between the two', async () => {
    const domain = await queue.domain()
    for (const found of [FULL, SHELL]) await render(domain, found)
    assert.equal(await end(domain, FULL), 'done rendered')
    clock.atMs += REFUSED_FOR_MS
    assert.equal(await end(domain, SHELL), 'failed shrunk')
  })

  it('is taken when the keep time of the domain is over, and when its owner purges', async () => {
    const domain = await queue.domain()
    await queue.set(domain, { keep_seconds: 60 })
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += 60_000 - 1
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += 1
    assert.equal(await end(domain, SHELL), 'done rendered')
    await render(domain, FULL)
    await transaction(queue.pool, (client) => purgePages(client, domain, { kind: 'all' }))
    assert.equal(await end(domain, SHELL), 'done rendered')
  })
})

describe('a render that brings the same as before', () => {
  // Proves decided "Unchanged snapshot"
  it('lengthens the life of the page, which is unchanged since and has the bytes that it had', async () => {
    const domain = await queue.domain()
    const firstMs = clock.atMs
    const first = await render(domain)
    assert.deepEqual([first.end, first.detail, first.page.changedAtMs], ['done rendered', null, firstMs])
    // Bytes that are written again are told by a mark.
    await queue.pool.query(`update page set body_br = '\\x1234', stale_since = now()`)

    clock.atMs += HOUR
    const second = await render(domain)
    assert.deepEqual([second.end, second.detail], ['done rendered', 'unchanged'])
    const { renderedAtMs, changedAtMs, staleSinceMs, bodyBr } = second.page
    assert.deepEqual([renderedAtMs, changedAtMs, staleSinceMs], [clock.atMs, firstMs, null])
    assert.equal(bodyBr.toString('hex'), '1234')

    clock.atMs += HOUR
    const other = await render(domain, { ...RENDERED, html: '<p>other' } as RenderOutcome)
    assert.deepEqual([other.detail, other.page.changedAtMs], [null, clock.atMs])
    assert.notEqual(other.page.bodyBr.toString('hex'), '1234')
    assert.equal(await queue.renders(domain), 3, 'the browser was at work')
  })

  it('but another status is a change', async () => {
    const domain = await queue.domain()
    await render(domain)
    clock.atMs += HOUR
    const gone = await render(domain, { ...RENDERED, status: 404 } as RenderOutcome)
    assert.deepEqual([gone.detail, gone.page.changedAtMs], [null, clock.atMs])
  })

  it('of an older version, which changed when it was rendered', async () => {
    const domain = await queue.domain()
    const firstMs = clock.atMs
    await render(domain)
    await queue.pool.query('update page set changed_at = null where domain_id = $1', [domain])
    clock.atMs += HOUR
    assert.equal((await render(domain)).page.changedAtMs, firstMs)
  })
})

describe('what becomes known of the site while a page is being compressed', () => {
  async function looked(domain: DomainId) {
    const job = await queue.running(domain, '/p')
    const effect = await effectOf(job, RENDERED)
    assert(effect.do === 'store-page')
    const keeper = createPageKeeper({ pool: queue.pool, plans: DEFAULT_PLANS, clock: systemClock })
    const known = await keeper.judge(job, effect.look)
    return { keep: () => keeper.keep(job, effect, known) }
  }

  /** The site has been looked at, and shows `html` where it has no page. */
  async function probed(domain: DomainId, html: string): Promise<void> {
    const finding = { kind: 'soft', application: null, words: wordsOf(html), spare: 0, echoes: false }
    await queue.pool.query(
      `insert into probe (domain_id, requested_at, renew_at, not_before, finding) values ($1, now(), now(), now(), $2)
       on conflict (domain_id) do update set renew_at = clock_timestamp(), finding = excluded.finding`,
      [domain, JSON.stringify(finding)],
    )
  }

  it('is what the page is judged by', async () => {
    const domain = await queue.domain()
    const { keep } = await looked(domain)
    assert(RENDERED.kind === 'rendered')
    await probed(domain, RENDERED.html)
    const kept = await keep()
    assert.equal(kept.kept === 'refused' && kept.outcome, 'soft-404')
    assert.deepEqual(await queue.stored(domain), [])
  })

  it('holds nothing up where it is the same as before', async () => {
    const domain = await queue.domain()
    await probed(domain, '<p>There is no such thing')
    const { keep } = await looked(domain)
    await probed(domain, '<p>There is no such thing')
    assert.equal((await keep()).kept, 'stored')
    assert.deepEqual(await queue.stored(domain), ['/p'])
  })
})

describe('what reads like a page that does not exist', () => {
  const bare = (path: string, body: string, application: string | null = null): Look => ({
    ...{ path, html: `<!DOCTYPE html><html><body>${body}</body></html>`, application },
  })
  const HEADER = '<header>Shop Bags Cups Lamps <img src="/logo.svg"></header>'
  const look = (path: string, main: string, application: string | null = 'build 1') =>
    bare(path, `${HEADER}<main>${main}</main><footer>Imprint Terms</footer>`, application)
  const HOME = look('/', '<h1>Welcome</h1><p>Bags and cups of the season</p>')
  const A = '/prepaint-probe-qwertzuiop'
  const B = '/prepaint-probe-asdfghjklm'
  const probed = (say: (path: string) => string, home = HOME) =>
    findingOf(look(A, say(A)), look(B, say(B)), home)

  const PLAIN = probed(() => '<h1>Page not found</h1>')
  const ECHO = probed((path) => `<h1>Nothing at ${path}</h1>`)
  const TIMED = probed(() => '<h1>Page not found</h1><p>At 10:15:02, in 31 ms</p>')
  const MOVING = probed(
    (path) => `<h1>Page not found</h1><p>${path === A ? 'Try the cups' : 'Read our story'}</p>`,
  )

  const PAGES: [
    name: string,
    isSoft: boolean,
    finding: typeof PLAIN,
    main: string,
    path?: string,
    build?: string,
  ][] = [
    ['the same words', true, PLAIN, '<h1>Page not found</h1>'],
    ['in other elements and other white space', true, PLAIN, '<div>Page\n  not <b>found</b></div>'],
    [
      'its own address in it, where the probe had its own',
      true,
      ECHO,
      '<h1>Nothing at /shoes</h1>',
      '/shoes',
    ],
    ['an address in other spelling', true, ECHO, '<h1>Nothing at /café</h1>', '/caf%C3%A9'],
    ['something that changes each time', true, MOVING, '<h1>Page not found</h1><p>Ask our people</p>'],
    ['numbers that change', true, TIMED, '<h1>Page not found</h1><p>At 11:07:59, in 4.25 ms</p>'],
    ['other words', false, PLAIN, '<h1>Red shoes</h1>'],
    ['a word more', false, PLAIN, '<h1>Page not found</h1><p>Shoes</p>'],
    ['a word less', false, PLAIN, '<h1>Page found</h1>'],
    ['a word twice', false, PLAIN, '<h1>Page not not found</h1>'],
    ['a picture more', false, PLAIN, '<h1>Page not found</h1><img alt="" src="/shoe.jpg">'],
    [
      'little more than the frame, no words that say that it is none',
      false,
      ECHO,
      '<h1>Red shoes</h1>',
      '/red-shoes',
    ],
    [
      'as many words as change each time, without those of regret',
      false,
      MOVING,
      '<p>Red shoes of leather</p>',
    ],
    ['a word of regret exchanged, and room for it', false, MOVING, '<h1>Page not here</h1><p>Ask us</p>'],
    ['more words than change each time', false, MOVING, '<h1>Page not found</h1><p>a b c d e f g</p>'],
    ['its address, where the probe had none', false, PLAIN, '<h1>Page not found</h1><p>shoes</p>', '/shoes'],
    ['the words of an earlier build', false, PLAIN, '<h1>Page not found</h1>', '/x', 'build 2'],
  ]
  describe('a page that reads like none, or is a page of its own', () => {
    for (const [name, isSoft, finding, main, path = '/x', build] of PAGES)
      it(`${isSoft ? 'none' : 'a page'}: ${name}`, () =>
        assert.equal(isSoft404(finding, look(path, main, build)), isSoft, JSON.stringify(finding)))

    it('whatever its build: only what it reads counts for what is stored', () =>
      assert.equal(readsLike(PLAIN, look('/x', '<h1>Page not found</h1>', 'build 2')), true))
  })

  describe('a site that cannot be judged', () => {
    const why = (finding: ReturnType<typeof probed>) => (finding.kind === 'none' ? finding.why : 'soft')

    it('has one page for everything', () => {
      const wall = () => '<h1>Please sign in</h1>'
      assert.equal(why(probed(wall, look('/', wall()))), 'the home page reads the same')
      assert.equal(why(probed(wall)), 'soft')
    })

    it('reads differently each time', () => {
      const odd = (path: string) => (path === A ? words('left', 40) : words('right', 40))
      assert.equal(why(probed(odd)), 'it reads differently each time')
    })

    it('changed in the middle of it', () => {
      const one = look(A, 'Page not found', 'build 1')
      const other = look(B, 'Page not found', 'build 2')
      assert.equal(why(findingOf(one, other, HOME)), 'the application changed while it was looked at')
    })

    it('has nothing to read', () => {
      const [one, other] = [A, B].map((path) => bare(path, '<canvas></canvas>'))
      assert.equal(why(findingOf(one!, other!, HOME)), 'there is nothing to read')
    })

    it('has too much to say: at the limit it is judged, one past it not', () => {
      const of = (path: string, count: number) => bare(path, words('w', count))
      assert.equal(why(findingOf(of(A, WORDS_LIMIT), of(B, WORDS_LIMIT), HOME)), 'soft')
      assert.equal(why(findingOf(of(A, WORDS_LIMIT + 1), of(B, WORDS_LIMIT), HOME)), 'it has too much to say')
    })
  })

  describe('words', () => {
    it('are compared as often as they stand there', () => {
      assert.deepEqual(wordsInBoth([1, 1, 2, 4], [1, 2, 2, 3, 4]), [1, 2, 4])
      assert.deepEqual(wordsInBoth([], [1]), [])
    })

    it('of any script, of broken addresses, of nothing', () => {
      assert.equal(wordsOf('<body>Ünïcödé 日本語 слово</body>')?.length, 3)
      assert.equal(wordsOfPath('/%ff/a').size, 2)
      assert.deepEqual(wordsOf(''), [])
    })

    it('of a page of 16 MB take no longer than those of a small one need', () => {
      assert.equal(wordsOf(`<body>${'word '.repeat(3_000_000)}</body>`), null)
      assert.equal(wordsOf(`<body>${'<img src="/a.png">'.repeat(WORDS_LIMIT + 1)}</body>`), null)
      assert.equal(wordsOf(`<body>${'<img src="/a.png">'.repeat(WORDS_LIMIT)}</body>`)?.length, WORDS_LIMIT)
      assert.equal(wordsOf(`<body><p title="${'<img '.repeat(3_000_000)}">`), null)
    })
  })

  function words(stem: string, count: number): string {
    const word = (at: number) => `${stem}${String.fromCharCode(97 + (at % 26))}${at}x`
    return Array.from({ length: count }, (_, at) => word(at)).join(' ')
  }
})
