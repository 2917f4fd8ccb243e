/** No form, variant or encoding of a page is served for another, nor a page of one domain for another. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it, type TestContext } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { until } from '../../../test/support/condition.ts'
import { type Answer, FACEBOOK, GOOGLEBOT, openEdge } from '../../../test/support/edge.ts'

const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync, identity: (same: Buffer) => same }
const FORMS = {
  html: { agent: GOOGLEBOT, accept: '*/*', shown: /^<!DOCTYPE html>.*<nav>only in HTML.*not on cards/ },
  markdown: {
    agent: GOOGLEBOT,
    accept: 'text/markdown',
    shown: /^---\ntitle: "A page"\n(?!.*only in HTML).*not on cards/s,
  },
  card: {
    agent: FACEBOOK,
    accept: '*/*',
    shown: /^<!DOCTYPE html>\n<html><head>(?!.*(?:only in HTML|not on cards))/,
  },
}
type Form = keyof typeof FORMS
type Representation = { host: string; variant: string; form: Form; encoding: keyof typeof UNPACK }

const ALL: Representation[] = []
for (const host of ['red.example', 'blue.example'])
  for (const variant of ['desktop', 'mobile'])
    for (const form of ['html', 'markdown', 'card'] as const)
      for (const encoding of ['br', 'gzip', 'identity'] as const) ALL.push({ host, variant, form, encoding })

const purges: Record<string, number> = { 'red.example': 0, 'blue.example': 0 }
const markOf = (host: string, variant: string) => `«${host} ${variant} ${purges[host]}»`
const edge = await openEdge({
  ...{ tls: true, conversionMs: 60_000 },
  async render({ page, customDomain }) {
    const mark = markOf(customDomain, page.variant)
    const head = `<title>A page</title><meta property="og:title" content="${mark}">`
    const body = `<nav>only in HTML</nav><main><h1>Head</h1><p>${mark}</p><p>not on cards</p></main>`
    const html = `<!DOCTYPE html><html><head>${head}</head><body>${body}</body></html>`
    return { kind: 'rendered', status: 200, headers: [], html }
  },
})
const other = await edge.node()

async function ask(
  t: TestContext,
  node: typeof other,
  { host, variant, form, encoding }: Representation,
  lane: 'fast' | 'parser' | 'http2',
  tags: string[] = [],
): Promise<Answer> {
  const agent = FORMS[form].agent + (variant === 'mobile' ? ' Mobile' : '')
  const headers = {
    ...{ accept: FORMS[form].accept, 'accept-encoding': encoding },
    ...(tags.length > 0 && { 'if-none-match': tags.join(', ') }),
  }
  if (lane !== 'http2') {
    return node.ask('/a', {
      host,
      agent,
      headers: lane === 'fast' ? headers : { ...headers, 'keep-alive': '1' },
    })
  }
  const session = node.session(t)
  const stream = session.request({ ':path': '/a', ':authority': host, 'user-agent': agent, ...headers })
  const [got] = (await once(stream, 'response')) as [Answer['headers']]
  const body = Buffer.concat(await stream.toArray())
  session.close()
  return {
    status: Number(got[':status']),
    headers: got,
    rawHeaders: [],
    body,
    verdict: String(got['x-prepaint']),
  }
}

it('each representation has its own bytes and ETag, at each node, by each way to ask', async (t) => {
  t.after(() => other.close())
  const settings = { devices: 'both', cards: 'on' }
  for (const host of Object.keys(purges)) await edge.settings(settings, host)
  const nameOf = new Map<string, string>()
  for (const round of [0, 1]) {
    purges['red.example'] = round
    await edge.purge({ kind: 'all' }).then(edge.settled)
    const tags = new Map<Representation, string>()
    for (const [node, lane] of [
      [edge, 'fast'],
      [other, 'fast'],
      [edge, 'parser'],
      [edge, 'http2'],
    ] as const) {
      const [, , plain] = ALL
      const isHeard = async () =>
        String((await ask(t, node, plain!, lane)).body).includes(`desktop ${round}»`)
      await until('the node has heard of the purge', isHeard)
      for (const one of ALL) {
        const { host, variant, form, encoding } = one
        const { status, headers, body, verdict } = await ask(t, node, one, lane)
        assert.match(verdict ?? '', node === other || lane !== 'fast' ? /^hit$/ : /^(?:hit|rendered)$/)
        assert.deepEqual(
          [status, headers['x-prepaint-variant'], headers['x-prepaint-form'], headers['content-encoding']],
          [200, variant, form === 'card' ? form : undefined, encoding === 'identity' ? undefined : encoding],
        )
        const text = String(UNPACK[encoding](body))
        assert.deepEqual(new Set(text.match(/«[^»]*»/g)), new Set([markOf(host, variant)]))
        assert.match(text, FORMS[form].shown)
        const name = JSON.stringify([one, purges[host]])
        const etag = headers.etag!
        assert.equal(nameOf.get(etag) ?? name, name, 'the ETag of another representation')
        assert.equal(tags.get(one) ?? etag, etag)
        nameOf.set(etag, name)
        tags.set(one, etag)
      }
    }
    for (const one of ALL) {
      const own = tags.get(one)!
      const others = [...tags.values()].filter((etag) => etag !== own)
      for (const lane of ['fast', 'parser', 'http2'] as const) {
        assert.equal((await ask(t, edge, one, lane, others)).status, 200)
        assert.equal((await ask(t, edge, one, lane, [...others.slice(0, 3), own])).status, 304)
      }
    }
  }
})
