/** What reads like a page that does not exist, and what does not. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
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
  ['its own address in it, where the probe had its own', true, ECHO, '<h1>Nothing at /shoes</h1>', '/shoes'],
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
