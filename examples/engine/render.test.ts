import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { makeDataDir, removeDir, testChromium } from '../../test/support/data-dir.ts'
import { serve } from '../../test/support/loopback.ts'

const SCRIPTED = `<!doctype html><title>shop</title><main></main>
  <script>fetch('/price').then((answer) => answer.text()).then((price) => document.querySelector('main').append(price))</script>`

const site = await serve((request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(request.url === '/price' ? '12 francs' : SCRIPTED)
})
const dataDir = makeDataDir()
after(async () => {
  await site.close()
  removeDir(dataDir)
})

/** Resolves with what the example prints. */
async function render(url: string, allowed = ''): Promise<string> {
  const args = [path.join(import.meta.dirname, 'render.ts'), url, dataDir, allowed]
  if (testChromium !== null) args.push(testChromium)
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return stdout
}

describe('examples/engine/render.ts', () => {
  it('prints the page as its scripts have made it, if the address of its site is allowed', async () => {
    assert.match(await render(`http://localhost:${site.port}/`, '127.0.0.1/32'), /<main>12 francs<\/main>/)
  })

  it('reaches no private address that is not allowed', async () => {
    const printed = await render(`http://localhost:${site.port}/`)
    assert.match(printed, /origin-unreachable/)
    assert.match(printed, /refused-address/)
  })
})
