/** What a rendered page is compared with: the last good copy, and what is known of pages that do not exist. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { WORDS_LIMIT, wordsOfPath } from '@prepaint/contract/reading/words.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { type UnreadOutcome, withReading } from '../../../../../test/support/outcome.ts'
import { HOME, openQueue, RENDERED } from '../../../../../test/support/queue.ts'
import type { LastGood } from '../../store/keep-page.ts'
import { effectOf } from './effect.ts'
import { PageKeeper, REFUSED_FOR_MS, refusalOf, SHRINK_FROM_CHARS } from './judge-page.ts'
import { findingOf, isSoft404, type Look, readsLike } from './soft-404.ts'

const HOUR = 3_600_000
const wordsOf = (html: string) => withReading({ html }).reading.words
const queue = await openQueue()
const clock = { atMs: Date.parse('2026-11-15T12:00:00Z'), nowMs: () => clock.atMs }
const complete = queue.completer({ clock })

/** How a render of the home page ended, with the detail of its job, and the page that is stored then. */
async function render(domain: DomainId, found: UnreadOutcome = RENDERED) {
  const job = await queue.running(domain, HOME, 'refresh')
  const { state } = await complete(job, found)
  const sql = 'select outcome, detail from every_job where id = $1'
  const { outcome, detail } = (await queue.pool.query(sql, [job.id])).rows[0]
  const page = await queue.page(domain)
  assert(page?.kind === 'page')
  return { end: `${state} ${outcome}`, detail, page }
}

describe('what is refused', () => {
  const LAST: LastGood = {
    etag: 'e',
    status: 200,
    textChars: 900,
    renderedAtMs: 0,
    refusedAtMs: null,
    keepMs: 1_000_000,
  }
  const outcome = (status: number, textChars: number, last: Partial<LastGood> = {}, nowMs = 1) =>
    refusalOf({ status, textChars }, { ...LAST, ...last }, nowMs)?.outcome ?? null

  it('a render with less than a third of the text is refused, if the last good copy has some', () => {
    assert.equal(outcome(200, 299), 'shrunk')
    assert.equal(outcome(200, 300), null)
    assert.equal(outcome(200, 1, { textChars: SHRINK_FROM_CHARS }), 'shrunk')
    assert.equal(outcome(200, 1, { textChars: SHRINK_FROM_CHARS - 1 }), null)
    assert.equal(outcome(200, 1, { textChars: null }), null)
    assert.equal(refusalOf({ status: 200, textChars: 1 }, null, 1), null)
  })

  it('a render with less text is refused where requests stayed unanswered', () => {
    const missing = 'no answer to GET /data'
    const fresh = { status: 200, textChars: 899, missing }
    assert.deepEqual(refusalOf(fresh, LAST, 1), { outcome: 'incomplete', detail: missing })
    assert.equal(refusalOf({ ...fresh, textChars: 900 }, LAST, 1), null)
    assert.equal(refusalOf({ ...fresh, missing: null }, LAST, 1), null)
    assert.equal(refusalOf(fresh, null, 1), null)
    assert.equal(refusalOf(fresh, { ...LAST, refusedAtMs: 0 }, REFUSED_FOR_MS), null)
  })

  it('an error status is refused where there was none, but 404 and 410 are accepted', () => {
    assert.equal(outcome(403, 900), 'origin-error')
    assert.equal(outcome(404, 1), null)
    assert.equal(outcome(410, 1), null)
    assert.equal(outcome(403, 1, { status: 403 }), null)
  })
})

describe('a render that is far worse than the last good copy', () => {
  const page = (text: string, status = 200): UnreadOutcome => ({
    ...{ kind: 'rendered', status, headers: [], html: `<html><body><p>${text}</p></body></html>` },
  })
  const FULL = page('A whole page of words. '.repeat(60))
  const SHELL = page('Header and footer.')
  const end = async (domain: DomainId, found: UnreadOutcome) => (await render(domain, found)).end

  // Proves decided "Bad renders"
  it('a far worse render leaves the last good copy, is not counted, and its job says why', async () => {
    const domain = await queue.domain()
    const whole = await render(domain, FULL)
    assert.equal(whole.end, 'done rendered')
    const shell = await render(domain, SHELL)
    assert.match(shell.detail, /^18 characters of text; the last good copy has 13\d\d$/)
    const forbidden = await render(domain, { ...FULL, status: 403 } as UnreadOutcome)
    assert.deepEqual([shell.end, forbidden.end], ['failed shrunk', 'failed origin-error'])
    assert.equal(forbidden.detail, 'status 403; the last good copy has 200')
    assert.equal(forbidden.page.htmlBytes, whole.page.htmlBytes)
    assert.equal(await queue.renders(domain), 1)
  })

  // Proves decided "Bad renders"
  it('a far worse render is stored when it persists, because the page really shrank', async () => {
    const domain = await queue.domain()
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += REFUSED_FOR_MS - 1
    assert.equal(await end(domain, SHELL), 'failed shrunk', 'the first doubt counts')
    clock.atMs += 1
    assert.equal(await end(domain, SHELL), 'done rendered')
    // A good render between the two begins anew.
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    assert.equal(await end(domain, FULL), 'done rendered')
    clock.atMs += REFUSED_FOR_MS
    assert.equal(await end(domain, SHELL), 'failed shrunk')
  })

  it('a far worse render is stored when the keep time of the domain is over, and after a purge', async () => {
    const domain = await queue.domain()
    await queue.set(domain, { keep_seconds: 60 })
    await render(domain, FULL)
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += 60_000 - 1
    assert.equal(await end(domain, SHELL), 'failed shrunk')
    clock.atMs += 1
    assert.equal(await end(domain, SHELL), 'done rendered')
    await render(domain, FULL)
    await queue.purge(domain, { kind: 'all' })
    assert.equal(await end(domain, SHELL), 'done rendered')
  })
})

// Proves decided "Unchanged snapshot"
it('a render that brings the same as before lengthens the life of the page, which is unchanged since and has the bytes that it had', async () => {
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
  const other = await render(domain, { ...RENDERED, html: '<p>other' } as UnreadOutcome)
  assert.deepEqual([other.detail, other.page.changedAtMs], [null, clock.atMs])
  assert.notEqual(other.page.bodyBr.toString('hex'), '1234')
  assert.equal(await queue.renders(domain), 3, 'the browser was at work')

  clock.atMs += HOUR
  const gone = await render(domain, { ...RENDERED, html: '<p>other', status: 404 } as UnreadOutcome)
  assert.deepEqual([gone.detail, gone.page.changedAtMs], [null, clock.atMs], 'another status is a change')
})

it('a page is judged by what becomes known of its site while it is being compressed', async () => {
  const domain = await queue.domain()
  await queue.set(domain, { soft_404: 'refuse' })
  const job = await queue.running(domain, '/p')
  const effect = await effectOf(job, RENDERED)
  assert(effect.do === 'store-page' && RENDERED.kind === 'rendered')
  const keeper = new PageKeeper(queue.pool, DEFAULT_PLANS, systemClock, queue.bodies, () => {})
  const known = await keeper.judge(job, effect.look)
  const words = wordsOf(RENDERED.html)
  await queue.pool.query(
    `insert into probe (domain_id, requested_at, renew_at, not_before, finding) values ($1, now(), now(), now(), $2)`,
    [domain, JSON.stringify({ kind: 'soft', application: null, words, spare: 0, echoes: false })],
  )
  const kept = await keeper.keep(job, effect, known)
  assert.equal(kept.kept === 'refused' && kept.outcome, 'soft-404')
})

describe('what reads like a page that does not exist', () => {
  const bare = (path: string, body: string, application: string | null = null): Look => {
    const words = wordsOf(`<!DOCTYPE html><html><body>${body}</body></html>`)
    return { path, words, application }
  }
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

  const NONE = '<h1>Page not found</h1>'
  const PAGES: [string, isSoft: boolean, typeof PLAIN, main: string, path?: string, build?: string][] = [
    ['the same words in other elements and white space', true, PLAIN, '<div>Page\n  not <b>found</b></div>'],
    ['its own address, as the probe had', true, ECHO, '<h1>Nothing at /shoes</h1>', '/shoes'],
    ['an address in other spelling', true, ECHO, '<h1>Nothing at /café</h1>', '/caf%C3%A9'],
    ['something that changes each time', true, MOVING, `${NONE}<p>Ask our people</p>`],
    ['numbers that change', true, TIMED, `${NONE}<p>At 11:07:59, in 4.25 ms</p>`],
    ['a word more', false, PLAIN, `${NONE}<p>Shoes</p>`],
    ['a word less', false, PLAIN, '<h1>Page found</h1>'],
    ['a word twice', false, PLAIN, '<h1>Page not not found</h1>'],
    ['a picture more', false, PLAIN, `${NONE}<img alt="" src="/shoe.jpg">`],
    ['no words that say that it is none', false, ECHO, '<h1>Red shoes</h1>', '/red-shoes'],
    ['a word of regret exchanged, and room for it', false, MOVING, '<h1>Page not here</h1><p>Ask us</p>'],
    ['more words than change each time', false, MOVING, `${NONE}<p>a b c d e f g</p>`],
    ['its address, where the probe had none', false, PLAIN, `${NONE}<p>shoes</p>`, '/shoes'],
    ['the words of an earlier build', false, PLAIN, NONE, '/x', 'build 2'],
  ]
  for (const [name, isSoft, finding, main, path = '/x', build] of PAGES)
    it(`${isSoft ? 'none' : 'a page'}: ${name}`, () =>
      assert.equal(isSoft404(finding, look(path, main, build)), isSoft, JSON.stringify(finding)))

  it('a stored page is compared by its words alone, whatever its build', () =>
    assert.equal(readsLike(PLAIN, look('/x', '<h1>Page not found</h1>', 'build 2')), true))

  it('a site that cannot be judged has a finding that says why', () => {
    const why = (finding: ReturnType<typeof probed>) => (finding.kind === 'none' ? finding.why : 'soft')
    const wall = () => '<h1>Please sign in</h1>'
    const odd = (path: string) => (path === A ? words('left', 40) : words('right', 40))
    const of = (path: string, count: number) => bare(path, words('w', count))
    const [one, other] = [look(A, 'Page not found', 'build 1'), look(B, 'Page not found', 'build 2')]
    const empty = (path: string) => bare(path, '<canvas></canvas>')
    const long = (count: number) => findingOf(of(A, count), of(B, WORDS_LIMIT), HOME)
    const CASES: [string, ReturnType<typeof probed>][] = [
      ['the home page reads the same', probed(wall, look('/', wall()))],
      ['soft', probed(wall)],
      ['it reads differently each time', probed(odd)],
      ['the application changed while it was looked at', findingOf(one, other, HOME)],
      ['there is nothing to read', findingOf(empty(A), empty(B), HOME)],
      ['soft', long(WORDS_LIMIT)],
      ['it has too much to say', long(WORDS_LIMIT + 1)],
    ]
    for (const [reason, finding] of CASES) assert.equal(why(finding), reason)
  })

  it('words of any script and of malformed addresses are found', () => {
    assert.equal(wordsOf('<body>Ünïcödé 日本語 слово</body>')?.length, 3)
    assert.equal(wordsOfPath('/%ff/a').size, 2)
  })

  it('words of a page of 16 MB take no longer than those of a small one need', () => {
    assert.equal(wordsOf(`<body>${'word '.repeat(3_000_000)}</body>`), null)
    assert.equal(wordsOf(`<body>${'<img src="/a.png">'.repeat(WORDS_LIMIT + 1)}</body>`), null)
    assert.equal(wordsOf(`<body>${'<img src="/a.png">'.repeat(WORDS_LIMIT)}</body>`)?.length, WORDS_LIMIT)
    assert.deepEqual(wordsOf(`<body><p title="${'<img '.repeat(3_000_000)}">`), [])
  })

  function words(stem: string, count: number): string {
    const word = (at: number) => `${stem}${String.fromCharCode(97 + (at % 26))}${at}x`
    return Array.from({ length: count }, (_, at) => word(at)).join(' ')
  }
})
