/**
 * Every limit of a page, at the limit and one past it. While a page meets its
 * limit, a page of another domain is rendered beside it: that one never notices.
 */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import zlib from 'node:zlib'
import type { Excess, RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { type Answer, openRenderer, scripted } from '../../../../test/support/renderer.ts'

const MIB = 1024 * 1024
const TIMEOUT_MS = 6_000

const renderer = await openRenderer({
  timeoutMs: TIMEOUT_MS,
  limits: {
    unpackedBytes: 8 * MIB,
    memoryBytes: 400 * MIB,
    snapshotBytes: MIB,
    elements: 1_000,
    frames: 20,
  },
  gatewayLimits: {
    requestsPerPage: 10,
    responseBytes: 2 * MIB,
    pageBytes: 3 * MIB,
    firstByteTimeoutMs: 2_000,
    idleTimeoutMs: 1_500,
  },
})
const { routes } = renderer

/** Renders a page beside pages of another domain, which must all come out whole, as must the next one of its own. */
async function beside(page: Answer): Promise<RenderOutcome> {
  routes.set('/hostile', page)
  let isOver = false
  const hostile = renderer.page('/hostile', { domain: 'hostile.example' }).finally(() => {
    isOver = true
  })
  for (let others = 0; !isOver || others < 2; others++) {
    assert.match(await renderer.html('/sound', { domain: 'other.example' }), /<p>sound<\/p>/)
    // Some five a second.
    await Promise.race([hostile, delay(200)])
  }
  assert.match(await renderer.html('/sound', { domain: 'hostile.example' }), /<p>sound<\/p>/)
  return hostile
}
routes.set('/sound', '<!doctype html><title>t</title><p>sound</p>')
const excess = (what: Excess): RenderOutcome => ({ kind: 'too-large', what })

/** Both pages say `done` at their end; the second goes past the limit. */
function limited(name: string, what: Excess, at: Answer, past: Answer): void {
  it(name, async () => {
    routes.set('/at', at)
    assert.match(await renderer.html('/at'), /done/)
    assert.deepEqual(await beside(past), excess(what))
  })
}

const bytes =
  (count: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(Buffer.alloc(count, 'x'))

const PACKERS = {
  gzip: (whole: Buffer) => zlib.gzipSync(whole, { level: 9 }),
  deflate: (whole: Buffer) => zlib.deflateSync(whole, { level: 9 }),
  br: (whole: Buffer) =>
    zlib.brotliCompressSync(whole, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: (whole: Buffer) => zlib.zstdCompressSync(whole),
  // One in the other: a few bytes of gigabytes.
  'gzip, gzip': (whole: Buffer) => zlib.gzipSync(zlib.gzipSync(whole, { level: 9 }), { level: 9 }),
}

/** `count` bytes that are a thousandth of it on the wire. */
function packed(count: number, encoding: keyof typeof PACKERS, type = 'text/plain', prefix = ''): Answer {
  const body = PACKERS[encoding](Buffer.from(prefix.padEnd(count, 'x')))
  return (_request, response) =>
    void response.writeHead(200, { 'content-type': type, 'content-encoding': encoding }).end(body)
}

const fetching = (path: string, times = 1) =>
  scripted(`(async () => {
    for (let at = 0; at < ${times}; at++) try { await (await fetch('${path}' + (at ? '?' + at : ''))).text() } catch {}
    show('done')
  })()`)

routes.set('/data', bytes(1))
routes.set('/one', bytes(MIB))
routes.set('/two', bytes(2 * MIB))
routes.set('/over', bytes(2 * MIB + 1))
routes.set('/over-chunked', bytes(2 * MIB + 1, { 'transfer-encoding': 'chunked' }))
for (let at = 0; at < 9; at++) {
  const location = at === 8 ? '/data' : `/hop${at + 1}`
  routes.set(`/hop${at}`, (_request, response) => void response.writeHead(302, { location }).end())
}

describe('what comes over the wire', () => {
  // The document is one of them.
  limited('requests of a page', 'requests', fetching('/data', 9), fetching('/data', 10))
  // The document, eight hops and what they lead to; then one hop more.
  limited('redirects of a request: each counts as one', 'requests', fetching('/hop1'), fetching('/hop0'))
  limited('bytes of all responses', 'page-bytes', fetching('/one', 2), fetching('/one', 3))
  limited('bytes of a response with its length', 'response-bytes', fetching('/two'), fetching('/over'))
  limited('bytes of one without', 'response-bytes', fetching('/two'), fetching('/over-chunked'))

  it('bytes of the page itself', async () => {
    const page = '<!doctype html><title>t</title><p>page</p><!--'
    assert.deepEqual(await beside(`${page.padEnd(2 * MIB - 2, 'x')}-->`), excess('response-bytes'))
  })

  it('a main response with too large a head ends the render', async () => {
    const withHead =
      (bytes: number): Answer =>
      ({ socket }) => {
        const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\nx-long: '
        socket.end(`${head}${'x'.repeat(bytes - head.length - 2)}\r\n\r\n<!doctype html><p>page</p>`)
      }
    routes.set('/long-header', withHead(64 * 1024))
    assert.match(await renderer.html('/long-header'), /page/)
    const tooLarge = { kind: 'origin-unreachable', reason: 'headers-too-large' }
    assert.deepEqual(await beside(withHead(64 * 1024 + 1)), tooLarge)
  })
})

describe('what it becomes', () => {
  for (const encoding of Object.keys(PACKERS) as (keyof typeof PACKERS)[]) {
    // The page's own bytes count as well; both pages are as long.
    const [flat, bomb] = ['flat', 'bomb'].map((name) => `/${name}-${encoding.replace(', ', '-')}`)
    const left = 8 * MIB - Buffer.byteLength(fetching(flat!))
    routes.set(flat!, packed(left, encoding))
    routes.set(bomb!, packed(left + 1, encoding))
    limited(`bytes after decompression, ${encoding}`, 'unpacked-bytes', fetching(flat!), fetching(bomb!))
  }

  it('a page whose own document unpacks beyond the limit ends the render', async () => {
    const bomb = packed(256 * MIB, 'gzip', 'text/html', '<!doctype html><title>t</title><p>')
    assert.deepEqual(await beside(bomb), excess('unpacked-bytes'))
  })

  // html, head, title, body, ul, li, script, and the host.
  const elements = (count: number) =>
    scripted(`show('done'); const host = document.createElement('div'); document.body.append(host)
      const root = host.attachShadow({ mode: 'closed' })
      for (let at = 0; at < ${count - 8}; at++) root.append(document.createElement('hr'))`)
  limited('elements of the document and its shadow roots', 'elements', elements(1_000), elements(1_001))

  const frames = (count: number) =>
    scripted(`for (let at = 0; at < ${count}; at++) {
      const frame = document.createElement('iframe'); document.body.append(frame); if (at % 2) frame.remove() }
      show('done')`)
  limited('frames, whether they stay or not', 'frames', frames(20), frames(21))

  it('a snapshot beyond its limit of bytes ends the render', async () => {
    const filled = (count: number) =>
      scripted(`show('done'); const text = document.createTextNode(''); document.body.append(text)
        text.data = 'x'.repeat(${count})`)
    routes.set('/filled', filled(MIB - 1_000))
    // The script says how much, and is as long for one byte more.
    const full = MIB - 1_000 + MIB - (await renderer.html('/filled')).length
    routes.set('/full', filled(full))
    assert.equal(Buffer.byteLength(await renderer.html('/full')), MIB)
    assert.deepEqual(await beside(filled(full + 1)), excess('snapshot-bytes'))
  })
})

describe('memory of a page', () => {
  const BUFFERS = 'const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))'
  const HOGS: Record<string, string> = {
    objects: 'const all = []; for (;;) all.push(new Array(10_000).fill(Math.random()))',
    buffers: BUFFERS,
    'a worker': `new Worker(URL.createObjectURL(new Blob(['${BUFFERS}']))); fetch('/never')`,
    WebAssembly: `const all = []; for (;;) { const memory = new WebAssembly.Memory({ initial: 1000 }); new Uint8Array(memory.buffer).fill(1); all.push(memory) }`,
  }
  routes.set('/never', () => {})
  for (const [name, script] of Object.entries(HOGS)) {
    it(`taken by ${name}: that page ends, and no other`, async () =>
      assert.deepEqual(await beside(scripted(`show('a'); ${script}`)), excess('memory')))
  }

  it('a page that stays below it is rendered, also after others in the same process', async () => {
    routes.set('/modest', scripted('window.kept = new Uint8Array(1.5e8).fill(1); show("done")'))
    for (let time = 0; time < 6; time++) assert.match(await renderer.html('/modest'), /done/)
  })
})

it('time to the first byte, and silence in the middle: before the limit a page is rendered, past it half of it is none', async () => {
  const pauses =
    (ms: number): Answer =>
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write('<!doctype html><p>half')
      if (ms < Infinity) setTimeout(() => response.end(' and half</p>'), ms)
    }
  routes.set('/pauses', pauses(400))
  routes.set('/fetching', fetching('/never'))
  assert.match(await renderer.html('/pauses'), /half and half/)
  assert.equal((await beside(pauses(Infinity))).kind, 'origin-unreachable')
  assert.deepEqual(await beside(() => {}), { kind: 'origin-unreachable', reason: 'timed-out' })
  assert.match(await renderer.html('/fetching'), /done/)
})

describe('windows, dialogs, downloads', () => {
  it('dialogs without end end with the time of a render, or before it on a fast machine', async () => {
    const outcome = await beside(scripted(`show('a'); for (;;) alert('again')`))
    const late = { kind: 'timed-out', afterMs: TIMEOUT_MS }
    assert.deepEqual(outcome, outcome.kind === 'timed-out' ? late : excess('event-bytes'))
  })

  it('downloads are refused, and leave no file', async () => {
    routes.set('/file', bytes(1_000, { 'content-disposition': 'attachment; filename="evil.txt"' }))
    const outcome = await beside(
      scripted(`for (let at = 0; at < 20; at++) {
        const link = document.createElement('a'); link.href = at % 2 ? '/file' : URL.createObjectURL(new Blob(['evil']))
        link.download = 'evil-${process.pid}-' + at; document.body.append(link); link.click() }
        show('done')`),
    )
    // A link that is clicked in the page itself leads away from it.
    assert(['rendered', 'redirect', 'not-html'].includes(outcome.kind), JSON.stringify(outcome))
    // Where the browser may write: its own directories, and everybody's.
    const files = [...(await readdir(renderer.dataDir, { recursive: true })), ...(await readdir(tmpdir()))]
    assert(!files.some((file) => file.includes(`evil-${process.pid}-`)))
  })
})
