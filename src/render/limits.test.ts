/**
 * Every limit of a page, at the limit and one past it. While a page meets its
 * limit, a page of another domain is rendered beside it: that one never notices.
 */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { describe, it } from 'node:test'
import zlib from 'node:zlib'
import { type Answer, besideAnother, openRenderer, scripted } from '../../test/support/renderer.ts'
import type { GatewayLimits } from '../gateway/request-counts.ts'
import type { Excess, PageLimits, RenderOutcome } from './outcome.ts'

const MIB = 1024 * 1024
const GATEWAY: Partial<GatewayLimits> = {
  ...{ requestsPerPage: 10, responseBytes: 2 * MIB, pageBytes: 3 * MIB },
  ...{ firstByteTimeoutMs: 2_000, idleTimeoutMs: 1_500 },
}
const LIMITS: Partial<PageLimits> = {
  unpackedBytes: 8 * MIB,
  elements: 1_000,
  frames: 20,
  snapshotBytes: MIB,
  memoryBytes: 400 * MIB,
}
const TIMEOUT_MS = 6_000

const renderer = await openRenderer({ timeoutMs: TIMEOUT_MS, limits: LIMITS, gatewayLimits: GATEWAY })
const { routes } = renderer

const beside = (path: string) => besideAnother(renderer, path)

const excess = (what: Excess): RenderOutcome => ({ kind: 'too-large', what })

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
  'br, gzip': (whole: Buffer) => zlib.gzipSync(zlib.brotliCompressSync(whole)),
} as const

/** `count` bytes that are a thousandth of it on the wire. */
function packed(count: number, encoding: keyof typeof PACKERS, type = 'text/plain', prefix = ''): Answer {
  const body = PACKERS[encoding](
    Buffer.concat([Buffer.from(prefix), Buffer.alloc(count - prefix.length, 'x')]),
  )
  return (_request, response) =>
    void response.writeHead(200, { 'content-type': type, 'content-encoding': encoding }).end(body)
}

const fetching = (path: string, times = 1) =>
  scripted(`(async () => {
    for (let at = 0; at < ${times}; at++) try { await (await fetch('${path}' + (at ? '?' + at : ''))).text() } catch {}
    show('done')
  })()`)

describe('what comes over the wire', () => {
  it('requests of a page', async () => {
    routes.set('/data', bytes(1))
    // The document is one of them.
    routes.set('/nine', fetching('/data', 9))
    routes.set('/ten', fetching('/data', 10))
    assert.match(await renderer.html('/nine'), /done/)
    assert.deepEqual(await beside('/ten'), excess('requests'))
    // The render ends with that request, not with the page.
    assert.equal((await renderer.explained('/ten')).record?.capture, null)
  })

  it('bytes of a response, with a length and without', async () => {
    routes.set('/two', bytes(2 * MIB))
    routes.set('/over', bytes(2 * MIB + 1))
    routes.set('/over-chunked', bytes(2 * MIB + 1, { 'transfer-encoding': 'chunked' }))
    routes.set('/with-two', fetching('/two'))
    routes.set('/with-over', fetching('/over'))
    routes.set('/with-over-chunked', fetching('/over-chunked'))
    assert.match(await renderer.html('/with-two'), /done/)
    assert.deepEqual(await beside('/with-over'), excess('response-bytes'))
    assert.deepEqual(await beside('/with-over-chunked'), excess('response-bytes'))
  })

  it('bytes of the page itself', async () => {
    const page = '<!doctype html><title>t</title><p>page</p><!--'
    routes.set('/large-page', `${page.padEnd(2 * MIB - 2, 'x')}-->`)
    assert.deepEqual(await beside('/large-page'), excess('response-bytes'))
  })

  it('bytes of all responses of a page', async () => {
    routes.set('/one', bytes(MIB))
    routes.set('/sum', fetching('/one', 2))
    routes.set('/sum-over', fetching('/one', 3))
    assert.match(await renderer.html('/sum'), /done/)
    assert.deepEqual(await beside('/sum-over'), excess('page-bytes'))
  })

  it('redirects of a request: each counts as one', async () => {
    for (let at = 0; at < 9; at++) {
      const location = at === 8 ? '/data' : `/hop${at + 1}`
      routes.set(`/hop${at}`, (_request, response) => void response.writeHead(302, { location }).end())
    }
    routes.set('/data', bytes(1))
    // The document, eight hops and what they lead to; then one hop more.
    routes.set('/with-hops', fetching('/hop1'))
    routes.set('/with-more-hops', fetching('/hop0'))
    assert.match(await renderer.html('/with-hops'), /done/)
    assert.deepEqual(await beside('/with-more-hops'), excess('requests'))
  })

  it('the head of the main response', async () => {
    const limit = 64 * 1024
    const withHead =
      (bytes: number): Answer =>
      ({ socket }) => {
        const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\nx-long: '
        socket.end(`${head}${'x'.repeat(bytes - head.length - 2)}\r\n\r\n<!doctype html><p>page</p>`)
      }
    routes.set('/long-header', withHead(limit))
    routes.set('/longer-header', withHead(limit + 1))
    assert.match(await renderer.html('/long-header'), /page/)
    const tooLarge = { kind: 'origin-unreachable', reason: 'headers-too-large' }
    assert.deepEqual(await beside('/longer-header'), tooLarge)
  })
})

describe('what it becomes', () => {
  for (const [at, encoding] of (Object.keys(PACKERS) as (keyof typeof PACKERS)[]).entries()) {
    it(`bytes after decompression, ${encoding}`, async () => {
      // The page's own bytes count as well; both pages are as long.
      const left = 8 * MIB - Buffer.byteLength(fetching(`/flat-${at}`))
      for (const [name, count] of Object.entries({ flat: left, bomb: left + 1 })) {
        routes.set(`/${name}-${at}`, packed(count, encoding))
        routes.set(`/with-${name}-${at}`, fetching(`/${name}-${at}`))
      }
      assert.match(await renderer.html(`/with-flat-${at}`), /done/)
      assert.deepEqual(await beside(`/with-bomb-${at}`), excess('unpacked-bytes'))
    })
  }

  it('a page that is a bomb itself', async () => {
    const bomb = packed(256 * MIB, 'gzip', 'text/html', '<!doctype html><title>t</title><p>')
    routes.set('/page-bomb', bomb)
    assert.deepEqual(await beside('/page-bomb'), excess('unpacked-bytes'))
  })

  it('elements of the document and its shadow roots', async () => {
    // html, head, title, body, ul, script, and the host.
    const elements = (count: number) =>
      scripted(`const host = document.createElement('div'); document.body.append(host)
        const root = host.attachShadow({ mode: 'closed' })
        for (let at = 0; at < ${count - 7}; at++) root.append(document.createElement('hr'))`)
    routes.set('/elements', elements(1_000))
    routes.set('/more-elements', elements(1_001))
    assert.equal((await renderer.page('/elements')).kind, 'rendered')
    assert.deepEqual(await beside('/more-elements'), excess('elements'))
  })

  it('frames, whether they stay or not', async () => {
    const frames = (count: number) =>
      scripted(`for (let at = 0; at < ${count}; at++) {
        const frame = document.createElement('iframe'); document.body.append(frame); if (at % 2) frame.remove() }
        show('done')`)
    routes.set('/frames', frames(20))
    routes.set('/more-frames', frames(21))
    assert.match(await renderer.html('/frames'), /done/)
    assert.deepEqual(await beside('/more-frames'), excess('frames'))
  })

  it('the snapshot', async () => {
    const filled = (count: number) =>
      scripted(`show('a'); const text = document.createTextNode(''); document.body.append(text)
        text.data = 'x'.repeat(${count})`)
    routes.set('/filled', filled(MIB - 1_000))
    const { length } = await renderer.html('/filled')
    routes.set('/full', filled(MIB - 1_000 + (MIB - length)))
    routes.set('/overfull', filled(MIB - 1_000 + (MIB - length) + 1))
    const full = await renderer.page('/full')
    // The script says how much, and is as long for one byte more.
    assert.equal(full.kind === 'rendered' && Buffer.byteLength(full.html), MIB)
    assert.deepEqual(await beside('/overfull'), excess('snapshot-bytes'))
  })
})

describe('memory of a page', () => {
  const HOGS: Record<string, string> = {
    objects: 'const all = []; for (;;) all.push(new Array(10_000).fill(Math.random()))',
    buffers: 'const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))',
    'a worker':
      'new Worker(URL.createObjectURL(new Blob(["const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))"]))); fetch("/never")',
    WebAssembly: `const all = []; for (;;) { const memory = new WebAssembly.Memory({ initial: 1000 }); new Uint8Array(memory.buffer).fill(1); all.push(memory) }`,
  }
  routes.set('/never', () => {})
  for (const [name, script] of Object.entries(HOGS)) {
    it(`taken by ${name}: that page ends, and no other`, async () => {
      routes.set('/hog', scripted(`show('a'); ${script}`))
      assert.deepEqual(await beside('/hog'), excess('memory'))
    })
  }

  it('a page that stays below it is rendered, also after others in the same process', async () => {
    routes.set('/modest', scripted('window.kept = new Uint8Array(1.5e8).fill(1); show("done")'))
    for (let time = 0; time < 6; time++) assert.match(await renderer.html('/modest'), /done/)
  })
})

it('memory of a page that is tried again in a fresh process stays the reason if the second try runs out of time', async () => {
  await renderer.html('/modest')
  let asked = 0
  const busy = scripted('for (;;);')
  const hog = scripted('const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))')
  routes.set(
    '/hog-then-busy',
    (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end(asked++ === 0 ? hog : busy),
  )
  assert.deepEqual(await renderer.page('/hog-then-busy'), excess('memory'))
  assert.equal(asked, 2)
})

it('time to the first byte, and silence in the middle: before the limit a page is rendered, past it half of it is none', async () => {
  const pauses =
    (ms: number): Answer =>
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).write('<!doctype html><p>half')
      if (ms < Infinity) setTimeout(() => response.end(' and half</p>'), ms)
    }
  routes.set('/pauses', pauses(400))
  routes.set('/half', pauses(Infinity))
  routes.set('/fetching', fetching('/never'))
  assert.match(await renderer.html('/pauses'), /half and half/)
  assert.equal((await beside('/half')).kind, 'origin-unreachable')
  assert.deepEqual(await beside('/never'), { kind: 'origin-unreachable', reason: 'timed-out' })
  assert.match(await renderer.html('/fetching'), /done/)
})

describe('windows, dialogs, downloads', () => {
  it('dialogs without end end with the time of a render, or before it on a fast machine', async () => {
    routes.set('/asking', scripted(`show('a'); for (;;) alert('again')`))
    const outcome = await beside('/asking')
    const late = { kind: 'timed-out', afterMs: TIMEOUT_MS }
    assert.deepEqual(outcome, outcome.kind === 'timed-out' ? late : excess('event-bytes'))
  })

  it('downloads are refused, and leave no file', async () => {
    routes.set('/file', bytes(1_000, { 'content-disposition': 'attachment; filename="evil.txt"' }))
    routes.set(
      '/downloads',
      scripted(`for (let at = 0; at < 20; at++) {
        const link = document.createElement('a'); link.href = at % 2 ? '/file' : URL.createObjectURL(new Blob(['evil']))
        link.download = 'evil-${process.pid}-' + at; document.body.append(link); link.click() }
        show('done')`),
    )
    const outcome = await beside('/downloads')
    // A link that is clicked in the page itself leads away from it.
    assert(['rendered', 'redirect', 'not-html'].includes(outcome.kind), JSON.stringify(outcome))
    // Where the browser may write: its own directories, and everybody's.
    const files = [...(await readdir(renderer.dataDir, { recursive: true })), ...(await readdir(tmpdir()))]
    assert(!files.some((file) => file.includes(`evil-${process.pid}-`)))
  })
})
