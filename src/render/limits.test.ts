/**
 * Limits of a page, at the limit and one past it; those of its requests are in src/gateway/limits.test.ts. While a page
 * meets its limit, a page of another domain is rendered beside it: that one never notices.
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

const renderer = await openRenderer({ timeoutMs: 6_000, limits: LIMITS, gatewayLimits: GATEWAY })
const { routes } = renderer

const beside = (path: string) => besideAnother(renderer, path)

const excess = (what: Excess): RenderOutcome => ({ kind: 'too-large', what })

const bytes =
  (count: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'text/plain', ...headers }).end(Buffer.alloc(count, 'x'))

/** `count` bytes that are a thousandth of it on the wire. */
function packed(count: number, type = 'text/plain', prefix = ''): Answer {
  const body = zlib.gzipSync(Buffer.concat([Buffer.from(prefix), Buffer.alloc(count - prefix.length, 'x')]))
  return (_request, response) =>
    void response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' }).end(body)
}

const fetching = (path: string, times = 1) =>
  scripted(`(async () => {
    for (let at = 0; at < ${times}; at++) try { await (await fetch('${path}' + (at ? '?' + at : ''))).text() } catch {}
    show('done')
  })()`)

/** The first page is rendered, the second ends for `what`. */
function limited(
  name: string,
  what: Excess,
  atLimit: Answer,
  past: Answer,
  parts: Record<string, Answer> = {},
) {
  it(name, async () => {
    for (const [path, answer] of Object.entries(parts)) routes.set(path, answer)
    routes.set('/at-limit', atLimit)
    routes.set('/past', past)
    assert.equal((await renderer.page('/at-limit')).kind, 'rendered')
    assert.deepEqual(await beside('/past'), excess(what))
  })
}

describe('what comes over the wire', () => {
  // The document is one of them.
  limited('requests of a page', 'requests', fetching('/data', 9), fetching('/data', 10), {
    '/data': bytes(1),
  })

  limited('bytes of a response', 'response-bytes', fetching('/two'), fetching('/over'), {
    '/two': bytes(2 * MIB),
    '/over': bytes(2 * MIB + 1, { 'transfer-encoding': 'chunked' }),
  })

  limited('bytes of all responses', 'page-bytes', fetching('/one', 2), fetching('/one', 3), {
    '/one': bytes(MIB),
  })

  it('silence in the middle: before the limit a page is rendered, past it half of it is none', async () => {
    const pauses =
      (ms: number): Answer =>
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).write('<!doctype html><p>half')
        if (ms < Infinity) setTimeout(() => response.end(' and half</p>'), ms)
      }
    routes.set('/pauses', pauses(400))
    routes.set('/half', pauses(Infinity))
    assert.match(await renderer.html('/pauses'), /half and half/)
    assert.equal((await beside('/half')).kind, 'origin-unreachable')
  })
})

describe('what it becomes', () => {
  // The page's own bytes count as well; both pages are as long.
  const left = 8 * MIB - Buffer.byteLength(fetching('/flat'))
  limited('bytes after decompression', 'unpacked-bytes', fetching('/flat'), fetching('/bomb'), {
    '/flat': packed(left),
    '/bomb': packed(left + 1),
  })

  it('a page that is a bomb itself', async () => {
    routes.set('/page-bomb', packed(256 * MIB, 'text/html', '<!doctype html><title>t</title><p>'))
    assert.deepEqual(await beside('/page-bomb'), excess('unpacked-bytes'))
  })

  // html, head, title, body, ul, script, and the host.
  const elements = (count: number) =>
    scripted(`const host = document.createElement('div'); document.body.append(host)
      const root = host.attachShadow({ mode: 'closed' })
      for (let at = 0; at < ${count - 7}; at++) root.append(document.createElement('hr'))`)
  limited('elements of the document and its shadow roots', 'elements', elements(1_000), elements(1_001))

  const frames = (count: number) =>
    scripted(`for (let at = 0; at < ${count}; at++) {
      const frame = document.createElement('iframe'); document.body.append(frame); if (at % 2) frame.remove() }
      show('done')`)
  limited('frames, whether they stay or not', 'frames', frames(20), frames(21))

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
    'a worker':
      'new Worker(URL.createObjectURL(new Blob(["const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))"]))); fetch("/never")',
  }
  routes.set('/never', () => {})
  for (const [name, script] of Object.entries(HOGS)) {
    it(`taken by ${name}: that page ends, and no other`, async () => {
      routes.set('/hog', scripted(`show('a'); ${script}`))
      assert.deepEqual(await beside('/hog'), excess('memory'))
    })
  }

  it('stays the reason when the page is tried again in a fresh process and runs out of time', async () => {
    routes.set('/modest', scripted('window.kept = new Uint8Array(1.5e8).fill(1); show("done")'))
    assert.match(await renderer.html('/modest'), /done/)
    let asked = 0
    const busy = scripted('for (;;);')
    const hog = scripted('const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))')
    routes.set('/hog-then-busy', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(asked++ === 0 ? hog : busy)
    })
    assert.deepEqual(await renderer.page('/hog-then-busy'), excess('memory'))
    assert.equal(asked, 2)
  })
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
