import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { until } from '../../../test/support/condition.ts'
import {
  type Answer,
  type AskOptions,
  FACEBOOK,
  GOOGLEBOT,
  openEdge,
  PERSON,
  path,
} from '../../../test/support/edge.ts'
import type { PagePath } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { factsForSitemap, notePages } from '../../site-files/page-facts.ts'
import { pageId } from '../../store/page-id.ts'
import { countStored } from '../../store/purge.ts'

const AGENT = 'some-agent/1.0'
const MD = { accept: 'text/markdown' }
const MARKDOWN = 'text/markdown; charset=utf-8'
const VARY = 'Accept, Accept-Encoding, User-Agent'
const LINK = '</style.css>; rel=preload'

const page = (
  body: string,
  { head = '', ...rest }: Partial<Extract<RenderOutcome, { kind: 'rendered' }>> & { head?: string } = {},
): RenderOutcome => ({
  ...{ kind: 'rendered', status: 200 },
  headers: [
    ['Content-Type', 'text/html'],
    ['X-Kept', 'yes'],
    ['Link', LINK],
  ],
  ...rest,
  html: `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A rake</title>${head}</head><body><nav>menu</nav><main><h1>Rake</h1><p>${body}</p></main></body></html>`,
})

let counted = 0
// The machine may be slow.
const visited: string[] = []
const edge = await openEdge({
  conversionMs: 60_000,
  parts: { lastVisits: { note: ({ crawler }) => void visited.push(crawler) } },
})
beforeEach(async () => {
  counted++
  await edge.settings({ cards: 'on' })
})
const at = () => `/${counted}`
const tool = (path: string, options: AskOptions = {}) =>
  edge.ask(path, { agent: AGENT, ...options, headers: { ...MD, ...options.headers } })
const text = ({ headers, body }: Answer) => {
  const { 'content-encoding': encoding } = headers
  return String(
    encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body,
  )
}

it('a tool that is no crawler gets Markdown, rendered once and kept', async () => {
  const tags = '<link rel="canonical" href="/rake"><meta name="robots" content="noindex">'
  edge.script(page('made of steel', { head: tags }))
  const first = await tool(at())
  assert.deepEqual([first.verdict, first.status], ['rendered', 200])
  const wanted = {
    ...{ 'content-type': MARKDOWN, 'x-content-type-options': 'nosniff', 'x-robots-tag': 'noindex' },
    ...{ 'x-kept': 'yes', vary: VARY, link: `<https://red.example/rake>; rel="canonical", ${LINK}` },
  }
  for (const [name, value] of Object.entries(wanted)) assert.equal(first.headers[name], value, name)
  const body = text(first)
  assert.match(
    body,
    /^---\ntitle: "A rake"\ncanonical: "https:\/\/red.example\/rake"\nlanguage: "en"\nmodified: "2[^"]+Z"\n---\n\n# Rake\n\nmade of steel\n$/,
  )
  assert.equal(first.headers['x-markdown-tokens'], `${Math.ceil(body.length / 4)}`)
  assert.equal(Number(first.headers['content-length']), first.body.length)
  const hit = await tool(at())
  assert.equal(hit.verdict, 'hit')
  assert.deepEqual(hit.body, first.body)
  assert.equal(edge.rendered.filter((one) => one.endsWith(at())).length, 1)
  // A crawler that asks for it, and HTML for the others.
  assert.equal((await edge.ask(at(), { headers: MD })).headers['content-type'], MARKDOWN)
  const html = await edge.ask(at())
  assert.deepEqual([html.verdict, html.headers.vary], ['hit', VARY])
  assert.match(text(html), /<nav>menu/)
  const alternate = `<https://red.example${at()}>; rel="alternate"; type="text/markdown"`
  assert(String(html.headers.link).includes(alternate))
})

it('a tool is no visit of a crawler', async () => {
  visited.length = 0
  for (const agent of [AGENT, GOOGLEBOT]) await tool(at(), { agent })
  assert.deepEqual(visited, ['Googlebot'])
})

it('names when the text last changed, not the HTML, nor when it was rendered', async () => {
  const modified = async (body: string) => {
    await edge.purge({ kind: 'path', path: path(at()) }).then(edge.settled)
    edge.wait(3_600_000)
    edge.script(page(body))
    return /^modified: "(.*)"$/m.exec(text(await tool(at())))?.[1]
  }
  const first = await modified('the text')
  assert.equal(first, new Date(edge.nowMs()).toISOString())
  const { html } = page('the text') as { html: string }
  const facts = factsForSitemap(html, [], { name: 'red.example', path: at(), query: 'keep' })
  await notePages(edge.pool, [{ page: pageId(edge.red, path(at())), nowMs: edge.nowMs(), facts }])
  assert.equal(await modified('<b class="new">the</b> text'), first, 'only the markup changed')
  assert.notEqual(await modified('another text'), first, 'it has changed and is not noted yet')
})

it('is stored, and a second node reads what the first one made', async () => {
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
  const { entries } = await countStored(edge.pool, edge.account)
  assert.equal(await edge.purge({ kind: 'path', path: at() as PagePath }), 1, 'a form is no key')
  assert.equal((await countStored(edge.pool, edge.account)).entries, entries - 1)
  assert.equal((await stored()).length, 0)
})

// ETags of each form and encoding: mixed-forms.test.ts.
it('dates are honoured for HTML only', async () => {
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
  const headers: [string, string][] = [['Content-Type', 'application/xhtml+xml']]
  edge.script(page('<b>steel</b> rake', { headers }))
  const card = await edge.ask(at(), { agent: FACEBOOK })
  assert.deepEqual([card.verdict, card.headers['x-prepaint-form']], ['rendered', 'card'])
  assert.deepEqual([card.headers.link, card.headers['content-type']], [undefined, 'text/html; charset=utf-8'])
  assert.match(String(card.body), /<h1>Rake<.h1><p>steel rake<.p><.body>/)
  await edge.settings({ crawlers: { add: [{ pattern: 'linkbot', category: 'social' }] }, cards: 'on' })
  assert.equal((await edge.ask(at(), { agent: 'Linkbot' })).headers['x-prepaint-form'], 'card')
  await edge.settings({})
  assert.equal((await edge.ask(at(), { agent: FACEBOOK })).headers['x-prepaint-form'], undefined)
})

it('passes what passes for crawlers, and people', async () => {
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
  const html = await edge.ask(at(), { headers: MD })
  assert.deepEqual([html.headers['content-type'], html.headers.link], ['text/html; charset=utf-8', LINK])
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

it('names one canonical address, the public one if that of the page is unusable', async () => {
  for (const href of ['', 'javascript:x>; rel="next', `/${'x'.repeat(10_000)}`]) {
    counted++
    edge.script(page('unusable', { head: `<link rel="canonical" href='${href}'>` }))
    const { headers } = await tool(at())
    assert.equal(headers.link, `<https://red.example${at()}>; rel="canonical", ${LINK}`)
  }
})

it('an error page has its status, and names no other form', async () => {
  edge.script(page('missing', { status: 404 }))
  const missing = await tool(at())
  assert.deepEqual([missing.status, missing.headers['content-type']], [404, MARKDOWN])
  assert.doesNotMatch(String((await edge.ask(at())).headers.link), /alternate/)
})

it('a page that cannot be converted is served as HTML', async () => {
  edge.script(page(`${'<b>'.repeat(200_000)}deep`))
  for (const verdict of ['rendered', 'hit']) {
    const answer = await tool(at())
    assert.equal(answer.verdict, verdict)
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(answer.headers.vary, VARY)
  }
})
