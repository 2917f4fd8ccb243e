import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, it, type TestContext } from 'node:test'
import { startShop } from '../../examples/shop/server.ts'
import { runJson, runPrepaint } from '../../test/support/command-line.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { serve } from '../../test/support/loopback.ts'

const dataDir = makeDataDir()
const shop = await startShop({ port: 0 })
const settings = {
  PREPAINT_DATA_DIR: dataDir,
  PREPAINT_ALLOW_PRIVATE_ORIGINS: `127.0.0.1/32:${new URL(shop.url).port}`,
  // It needs no database: this one does not exist.
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
}
const allowed = { ...settings, PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32' }
after(async () => {
  await shop.close()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

async function startOrigin(t: TestContext, answer: http.RequestListener): Promise<string> {
  const { url, close } = await serve((req, res) => answer(req, res.setHeader('content-type', 'text/html')))
  t.after(close)
  return `${url}/`
}

it('prints the finished page and nothing else on stdout', async () => {
  const { code, stdout } = await runPrepaint(['render', `${shop.url}/product/morning-mug`], settings)
  assert.equal(code, 0)
  assert.match(stdout, /^<!DOCTYPE html>/i)
  assert.match(stdout, /<h1>Morning mug<\/h1>/)
  assert.match(stdout, /"@type":"Product"/)
  assert.match(stdout, /In the hand|Better in the hand/, 'what the second API call brought')
  assert.doesNotMatch(stdout, /<script type="module"/)
})

it('says what came of it with --json; ends with 1 and the reason when it is no page', async () => {
  const { code, json } = await runJson(['render', `${shop.url}/nothing`], settings)
  assert.deepEqual([code, json['outcome'], json['status']], [0, 'rendered', 404])
  const picture = await runPrepaint(['render', `${shop.url}/icon.svg`], settings)
  assert.equal(picture.code, 1)
  assert.equal(picture.stdout, '')
  assert.match(picture.stderr, /image\/svg\+xml, not HTML/)
})

it('explains with --explain how the render went', async () => {
  const { code, stdout } = await runPrepaint(['render', '--explain', `${shop.url}/`], settings)
  assert.equal(code, 0)
  assert.match(stdout, /outcome +rendered/)
  assert.match(stdout, /captured +when .* \((budget|idle|ready-signal)\)/)
  assert.match(stdout, /\d+ {2}waiting for the response/)
})

it('sees a site as the node does: the same visitor, with the page that explains it; or as a phone', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await startOrigin(t, (req, res) => {
    seen.push(req.headers['user-agent'])
    res.end('<p>content</p>')
  })
  const around = { ...allowed, PREPAINT_PUBLIC_URL: 'https://render.example/' }
  assert.equal((await runPrepaint(['render', url], around)).code, 0)
  assert.match(
    seen.at(-1) ?? '',
    / Safari\/537\.36 Prepaint\/[\d.]+\S* \(\+https:\/\/render\.example\/bot\)$/,
  )
  assert.equal((await runPrepaint(['render', '--variant', 'mobile', url], allowed)).code, 0)
  assert.match(seen.at(-1) ?? '', /Android.* Mobile /)
  assert.equal((await runPrepaint(['render', '--variant', 'tablet', url], allowed)).code, 2)
})

it('prints another form of the page', async (t) => {
  const page = '<title>T</title><main><h1>Head</h1><p>text</p></main>'
  const url = await startOrigin(t, (_req, res) => res.end(page))
  const markdown = await runPrepaint(['render', '--form', 'markdown', url], allowed)
  assert.match(markdown.stdout, /^---\ntitle: "T"\n.*---\n\n# Head\n\ntext\n/s)
  const card = await runJson(['render', '--form', 'card', url], allowed)
  assert.match(String(card.json['text']), /<title>T<\/title>/)
  assert.equal((await runPrepaint(['render', '--form', 'pdf', url], allowed)).code, 2)
})

it('refuses a private address that is not allowed, and says how to allow it', async () => {
  const { code, json } = await runJson(['render', 'http://127.0.0.1:9/'], settings)
  assert.equal(code, 1)
  assert.match(String(json['error']), /PREPAINT_ALLOW_PRIVATE_ORIGINS=127\.0\.0\.1\/32:9/)
  assert.equal((await runJson(['render', 'file:///etc/passwd'], settings)).code, 2)
})
