/** `npm run build && node bench/dashboard-table.ts [pages = 50000]`. A frame at 60 Hz has 16.7 ms. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DASHBOARD_DIR } from '@prepaint/api/service/dashboard.ts'
import { setPassword } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { startBrowser } from '../dashboard/shots/browser.ts'
import { startTestApi } from '../test/support/api.ts'

const PASSWORD = 'seven quiet otters paint'
const pages = Number(process.argv[2] ?? 50_000)

const api = await startTestApi({ dashboardDir: DASHBOARD_DIR })
const dir = await mkdtemp(path.join(tmpdir(), 'prepaint-table-'))
await chmod(dir, 0o711)
const browser = await startBrowser(dir, () => {})
try {
  api.clock.atMs = Date.now()
  const owner = await api.account()
  await setPassword(api.pool, owner.id, PASSWORD)
  const { id } = await api.domain(owner, 'large.example.com')
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select $1, '/p/' || lpad(n::text, 6, '0'), 200, '[]', '\\x00', n, 'e', now() from generate_series(1, $2::integer) n`,
    [id, pages],
  )
  const { tab } = browser
  await tab.show({ width: 1280, height: 800, scheme: 'light' })
  await tab.open(`${api.url}/sign-in`)
  await tab.run(`fetch('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify({ email: owner.email, password: PASSWORD }))},
  })`)
  await tab.open(`${api.url}/domains/large.example.com/cache`)
  await tab.until(`document.querySelector('[role=grid]') !== null`)

  const read = await tab.run<{ ms: number; rows: number; heapMb: number }>(`(async () => {
    const body = document.querySelector('[role=rowgroup]')
    const start = performance.now()
    const all = ${pages} * 44
    while (body.scrollHeight < all) {
      body.scrollTop = body.scrollHeight
      await new Promise((resolve) => requestAnimationFrame(resolve))
    }
    const { usedJSHeapSize } = performance.memory
    return { ms: performance.now() - start, rows: document.querySelectorAll('[role=row]').length, heapMb: usedJSHeapSize / 2 ** 20 }
  })()`)
  const frames = await tab.run<{ work: number[]; late: number[] }>(`(async () => {
    const body = document.querySelector('[role=rowgroup]')
    const [work, late] = [[], []]
    body.scrollTop = 0
    let before = await new Promise(requestAnimationFrame)
    for (let top = 0; top < body.scrollHeight; top += Math.max(body.clientHeight, body.scrollHeight / 1000)) {
      const start = performance.now()
      body.scrollTop = top
      body.dispatchEvent(new Event('scroll', { bubbles: true }))
      // React has rendered the rows, and their layout is done.
      await null
      void body.offsetHeight
      work.push(performance.now() - start)
      const now = await new Promise(requestAnimationFrame)
      late.push(now - before)
      before = now
    }
    return { work, late }
  })()`)
  const at = (values: number[], share: number) =>
    values
      .toSorted((a, b) => a - b)
      [Math.min(values.length - 1, Math.floor(values.length * share))]?.toFixed(1)
  const line = (values: number[]) =>
    `p50 ${at(values, 0.5)} ms, p95 ${at(values, 0.95)} ms, p99 ${at(values, 0.99)} ms, most ${at(values, 1)} ms`
  process.stdout.write(
    `${pages} pages read in ${(read.ms / 1_000).toFixed(1)} s; ${read.rows} rows in the document, heap ${read.heapMb.toFixed(0)} MiB
${frames.work.length} frames: script and layout of one ${line(frames.work)}
between frames: ${line(frames.late)}\n`,
  )
} finally {
  await browser.close()
  await api.close()
  await rm(dir, { recursive: true, force: true, maxRetries: 5 })
}
