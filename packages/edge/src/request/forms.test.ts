/** Markdown and cards of a page, as they are answered. All forms beside each other: mixed-forms.test.ts. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { factsForSitemap, notePages } from '@prepaint/pages/site-files/page-facts.ts'
import { countStored } from '@prepaint/pages/store/purge.ts'
import { until } from '../../../../test/support/condition.ts'
import {
  type AskOptions,
  FACEBOOK,
  GOOGLEBOT,
  openEdge,
  PERSON,
  path,
} from '../../../../test/support/edge.ts'
import { type UnreadOutcome, withReading } from '../../../../test/support/outcome.ts'
import { packReading } from '../../../pages/src/store/stored-reading.ts'

const AGENT = 'some-agent/1.0'
const MD = { accept: 'text/markdown' }
const MARKDOWN = 'text/markdown; charset=utf-8'
const HTML = 'text/html; charset=utf-8'
const VARY = 'Accept, Accept-Encoding, User-Agent'
const LINK = '</style.css>; rel=preload'

const page = (
  body: string,
  { head = '', headers = [['Link', LINK]] }: { head?: string; headers?: [string, string][] } = {},
): UnreadOutcome & { kind: 'rendered' } => ({
  ...{ kind: 'rendered', status: 200, headers: [['X-Kept', 'yes'], ...headers] },
  html: `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A rake</title>${head}</head><body><nav>menu</nav><main><h1>Rake</h1><p>${body}</p></main></body></html>`,
})

let counted = 0
// The machine may be slow.
const edge = await openEdge({ conversionMs: 60_000 })
beforeEach(async () => {
  counted++
  await edge.settings({ cards: 'on' })
})
const at = () => path(`/${counted}`)
const tool = (path: string, options: AskOptions = {}) =>
  edge.ask(path, { agent: AGENT, ...options, headers: { ...MD, ...options.headers } })

it('a tool that is no crawler gets Markdown, rendered once and kept', async () => {
  const tags = '<link rel="canonical" href="/rake"><meta name="robots" content="noindex">'
  edge.script(page('für größere Gärten', { head: tags }))
  const first = await tool(at())
  assert.deepEqual([first.verdict, first.status], ['rendered', 200])
  const wanted = {
    ...{ 'content-type': MARKDOWN, 'x-content-type-options': 'nosniff', 'x-robots-tag': 'noindex' },
    ...{ 'x-kept': 'yes', vary: VARY, link: `<https://red.example/rake>; rel="canonical", ${LINK}` },
  }
  for (const [name, value] of Object.entries(wanted)) assert.equal(first.headers[name], value, name)
  assert.match(
    String(first.body),
    /^---\ntitle: "A rake"\ncanonical: "https:\/\/red.example\/rake"\nlanguage: "en"\nmodified: "2[^"]+Z"\n---\n\n# Rake\n\nfür größere Gärten\n$/,
  )
  assert.equal(first.headers['x-markdown-tokens'], `${Math.ceil(String(first.body).length / 4)}`)
  const hit = await tool(at())
  assert.equal(hit.verdict, 'hit')
  assert.deepEqual(hit.body, first.body)
  assert.deepEqual(edge.rendered, [`red.example${at()}`])
})

it('Markdown names when its text last changed, not when the HTML changed or was rendered', async () => {
  const modified = async (body: string) => {
    await edge.purge({ kind: 'path', path: at() }).then(edge.settled)
    edge.wait(3_600_000)
    edge.script(page(body))
    return /^modified: "(.*)"$/m.exec(String((await tool(at())).body))?.[1]
  }
  const first = await modified('the text')
  assert.equal(first, new Date(edge.nowMs()).toISOString())
  const facts = factsForSitemap(withReading(page('the text')).reading, [], {
    name: 'red.example',
    path: at(),
    query: 'keep',
  })
  await notePages(edge.pool, [{ page: pageId(edge.red, at()), nowMs: edge.nowMs(), facts }])
  assert.equal(await modified('<b class="new">the</b> text'), first, 'only the markup changed')
  assert.notEqual(await modified('another text'), first, 'it has changed and is not noted yet')
})

describe('what the head of a page says', () => {
  const robots = '<meta name="robots" content="index"><meta name="googlebot" content="noindex">'
  const whole = page('a rake', { head: `${robots}<link rel="alternate canonical" href="/rake">` })
  /** The Markdown of a second node, which finds no form: made of the page with this reading. */
  async function madeAnew(reading: Buffer | null) {
    const form = async () => (await edge.pool.query('select from page_form where path = $1', [at()])).rowCount
    await until('the form is stored', async () => (await form()) === 1)
    await edge.pool.query('delete from page_form')
    await edge.pool.query('update page set reading_br = $2 where path = $1', [at(), reading])
    const node = await edge.node()
    const answer = await node.ask(at(), { agent: AGENT, headers: MD })
    await node.close()
    return answer
  }

  it('is told with the rules for each crawler, and is the same of a page that 0.2.0 stored without a reading', async () => {
    edge.script(whole)
    const first = await tool(at())
    assert.equal(first.headers['x-robots-tag'], 'index, googlebot: noindex')
    assert.match(String(first.headers.link), /^<https:\/\/red\.example\/rake>; rel="canonical"/)
    const again = await madeAnew(null)
    assert.equal(String(again.body), String(first.body))
    assert.equal(again.headers['x-robots-tag'], first.headers['x-robots-tag'])
  })

  it('is that of the stored reading: the page is not read again', async () => {
    edge.script(whole)
    await tool(at())
    const { reading } = withReading(whole)
    const answer = await madeAnew(await packReading({ ...reading, title: 'As it was read' }))
    assert.match(String(answer.body), /^---\ntitle: "As it was read"\n/)
  })
})

it('Markdown is stored, and a second node reads what the first one made', async () => {
  edge.script(page('two nodes'))
  await tool(at())
  const stored = async () => (await edge.pool.query('select * from page_form where path = $1', [at()])).rows
  await until('it is stored', async () => (await stored()).length > 0)
  await edge.pool.query(`update page_form set etag = 'of-the-first' where path = $1`, [at()])
  const second = await edge.node()
  const answer = await second.ask(at(), { agent: AGENT, headers: MD })
  assert.equal(answer.headers.etag, '"of-the-first"')
  await second.close()
  // Gone with the page.
  const { entries } = await countStored(edge.pool, wholeAccount(edge.account))
  assert.equal(await edge.purge({ kind: 'path', path: at() }), 1, 'a form is no key')
  assert.equal((await countStored(edge.pool, wholeAccount(edge.account))).entries, entries - 1)
  assert.equal((await stored()).length, 0)
})

it('If-Modified-Since gets 304 for HTML and the whole page for Markdown', async () => {
  edge.script(page('conditions'))
  for (const [agent, headers, dated] of [
    [AGENT, MD, 200],
    [GOOGLEBOT, {}, 304],
    [FACEBOOK, {}, 200],
  ] as const) {
    await edge.ask(at(), { agent, headers })
    const since = { 'if-modified-since': new Date(edge.nowMs() + 9e6).toUTCString() }
    assert.equal((await edge.ask(at(), { agent, headers: { ...headers, ...since } })).status, dated)
  }
})

it('cards are for social crawlers, those of the domain too; HTML, whatever the page was', async () => {
  edge.script(page('<b>steel</b> rake', { headers: [['Content-Type', 'application/xhtml+xml']] }))
  const card = await edge.ask(at(), { agent: FACEBOOK })
  const { link, 'content-type': type, 'x-prepaint-form': form } = card.headers
  assert.deepEqual([card.verdict, form, link, type], ['rendered', 'card', undefined, HTML])
  assert.match(String(card.body), /<h1>Rake<.h1><p>steel rake<.p><.body>/)
  await edge.settings({ crawlers: { add: [{ pattern: 'linkbot', category: 'social' }] }, cards: 'on' })
  assert.equal((await edge.ask(at(), { agent: 'Linkbot' })).headers['x-prepaint-form'], 'card')
  await edge.settings({})
  assert.equal((await edge.ask(at(), { agent: FACEBOOK })).headers['x-prepaint-form'], undefined)
})

it('a request for Markdown is passed where one of a crawler is, and people get the origin', async () => {
  edge.script(page('passes'))
  await tool(at())
  const why = async (path: string, options: AskOptions) => (await tool(path, options)).verdict
  const cookie = { headers: { cookie: 'a=b' } }
  const PASSES: [path: string, options: AskOptions, verdict: string][] = [
    [at(), { agent: GOOGLEBOT, ...cookie }, 'hit'],
    [at(), cookie, 'pass; cookie'],
    [at(), { method: 'POST' }, 'pass; method'],
    ['/sitemap.xml', {}, 'pass; asset'],
    ['/llms.txt', {}, 'pass; excluded'],
    [at(), { agent: PERSON, headers: { accept: 'text/html, */*' } }, 'pass; not-a-crawler'],
  ]
  for (const [path, options, verdict] of PASSES) assert.equal(await why(path, options), verdict)
  await edge.settings({ categories: { other: 'pass' } })
  assert.equal(await why(at(), {}), 'pass; category')
  await edge.settings({ markdown: 'off' })
  const { headers } = await edge.ask(at(), { headers: MD })
  assert.deepEqual([headers['content-type'], headers.link], [HTML, LINK])
})

it('a site with Markdown of its own, named by a header or an element, gives its own', async () => {
  edge.script(page('own', { head: '<link rel="alternate" type="text/markdown" href="/own.md">' }))
  assert.equal((await tool(at())).verdict, 'pass; own-markdown')
  counted++
  const link = '<a>; rel=next, </own.md>; type="text/markdown"; rel="alternate"'
  edge.script(page('own', { headers: [['Link', link]] }))
  for (let turn = 0; turn < 2; turn++) assert.equal((await tool(at())).verdict, 'pass; own-markdown')
  const html = await edge.ask(at())
  assert.deepEqual([html.verdict, html.headers.link], ['hit', link])
})

it('Markdown names one canonical address: that of the page, or the public one if that is unusable', async () => {
  for (const href of ['', 'javascript:x>; rel="next', `/${'x'.repeat(10_000)}`]) {
    counted++
    edge.script(page('unusable', { head: `<link rel="canonical" href="${href.replaceAll('"', '&quot;')}">` }))
    const { headers } = await tool(at())
    assert.equal(headers.link, `<https://red.example${at()}>; rel="canonical", ${LINK}`)
  }
})

it('a page that cannot be converted is served as HTML', async () => {
  edge.script(page(`${'<b>'.repeat(200_000)}deep`))
  for (const verdict of ['rendered', 'hit']) {
    const answer = await tool(at())
    assert.deepEqual([answer.verdict, answer.headers['content-type']], [verdict, HTML])
    assert.equal(answer.headers.vary, VARY)
  }
})
