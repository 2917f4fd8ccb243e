import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { BrowserBinary } from '@prepaint/engine/browser-binary'
import { until } from '../../support/condition.ts'
import { removeDir } from '../../support/data-dir.ts'
import { connectCdp, killGroup } from '../../support/engine-parts.ts'
import { serve } from '../../support/loopback.ts'
import { answersOf, probePage } from './probe.ts'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--remote-debugging-pipe',
  '--no-first-run',
  '--disable-dev-shm-usage',
]

/** What the browser answers by itself: headless, in real time, with its defaults. */
export async function plainAnswers(binary: BrowserBinary): Promise<Record<string, string>> {
  const home = mkdtempSync(path.join(tmpdir(), 'prepaint-plain-'))
  const origin = await serve((request, response) => {
    if (request.url === '/') response.setHeader('content-type', 'text/html; charset=utf-8').end(probePage())
    else if (request.url === '/worker.js') response.setHeader('content-type', 'text/javascript').end('')
    else response.writeHead(404).end()
  })
  const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], HOME: home, TMPDIR: home, TZ: 'UTC' }
  if (binary.libraryDir !== null) env['LD_LIBRARY_PATH'] = binary.libraryDir
  if (binary.fontsDir !== null) env['FONTCONFIG_PATH'] = binary.fontsDir
  const flags = [...FLAGS, `--user-data-dir=${path.join(home, 'profile')}`, 'about:blank']
  const child = spawn(binary.executable, flags, {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const exited = once(child, 'exit')
  try {
    const cdp = connectCdp(child.stdio[3] as Writable, child.stdio[4] as Readable)
    const { targetId } = await cdp.browser.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
    const page = cdp.session(sessionId)
    page.listen({
      'Page.javascriptDialogOpening': () => {
        void page.send('Page.handleJavaScriptDialog', { accept: false })
      },
    })
    await page.send('Page.enable')
    await page.send('Page.navigate', { url: `${origin.url}/` })
    const evaluated = async (expression: string) =>
      (await page.send('Runtime.evaluate', { expression, returnByValue: true })).result.value
    await until('all answers', async () => (await evaluated('document.title')) === 'answered')
    return answersOf(String(await evaluated('document.body.outerHTML')))
  } finally {
    if (child.pid !== undefined) killGroup(child.pid)
    await exited
    await origin.close()
    removeDir(home)
  }
}
