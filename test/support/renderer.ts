import type http from 'node:http'
import { after } from 'node:test'
import type { DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import { type EngineOptions, startEngine } from '@prepaint/engine'
import ipaddr from 'ipaddr.js'
import { makeDataDir, removeDir, testChromium } from './data-dir.ts'
import { serve } from './loopback.ts'

export const TEST_IDENTITY = 'Prepaint/0.0.0-test (+https://render.example/bot)'

export type Answer = string | ((request: http.IncomingMessage, response: http.ServerResponse) => void)

export type TestRenderer = Awaited<ReturnType<typeof startTestRenderer>>

type Asked = Partial<Omit<RenderRequest, 'customDomain' | 'path'>> & { domain?: string }

export async function startTestRenderer(options: Partial<EngineOptions> = {}) {
  const { dataDir = makeDataDir() } = options
  /** A string is HTML. Missing paths return 404 without a body. */
  const routes = new Map<string, Answer>()
  const asked: string[] = []
  const origin = await serve((request, response) => {
    const { url = '' } = request
    asked.push(url)
    const answer = routes.get(url) ?? routes.get(url.split('?', 1)[0]!)
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'function') answer(request, response)
    else response.setHeader('content-type', 'text/html; charset=utf-8').end(answer)
  })

  const renderer = await startEngine({
    identity: TEST_IDENTITY,
    chromium: testChromium,
    slots: 2,
    allowedPrivateOrigins: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }],
    ...options,
    dataDir,
  })

  const explained = (path: string, { domain = 'shop.example', ...given }: Asked = {}) =>
    renderer.render({
      originUrl: origin.url,
      captureByMs: null,
      signal: new AbortController().signal,
      ...given,
      customDomain: domain as DomainName,
      path: path as PagePath,
    })
  const page = async (path: string, given?: Asked) => (await explained(path, given)).outcome
  const html = async (path: string, given?: Asked) => {
    const outcome = await page(path, given)
    if (outcome.kind === 'rendered') return outcome.html
    throw new Error(`${path}: ${JSON.stringify(outcome)}`)
  }

  return {
    renderer,
    dataDir,
    originUrl: origin.url,
    asked,
    routes,
    origin: origin.server,
    explained,
    page,
    html,
    render: (request: RenderRequest) => renderer.render(request),
    sandbox: renderer.sandbox,
    browsers: renderer.browsers,
    get healthy() {
      return renderer.healthy
    },
    /** Lines that the page has added with `show`. */
    shown: async (path: string, given?: Asked) =>
      [...(await html(path, given)).matchAll(/<li>(.*?)<\/li>/g)].map(([, text = '']) => text),
    async close() {
      await renderer.close()
      await origin.close()
      removeDir(dataDir)
    },
  }
}

/** One that ends after all tests of a file, or with a test. */
export async function openRenderer(
  options?: Parameters<typeof startTestRenderer>[0],
  t: { after(end: () => unknown): void } = { after },
): Promise<TestRenderer> {
  const renderer = await startTestRenderer(options)
  t.after(() => renderer.close())
  return renderer
}

export const javascript =
  (text: string): Exclude<Answer, string> =>
  (_request, response) =>
    void response.setHeader('content-type', 'text/javascript').end(text)

export function slowJson(ms: number, value: unknown): Answer {
  return (_request, response) =>
    void setTimeout(
      () => response.setHeader('content-type', 'application/json').end(JSON.stringify(value)),
      ms,
    )
}

/** Callable as ``f`text` `` as well, which spares the parentheses around a long text. */
export function taggable<Rest extends unknown[], Made>(make: (text: string, ...rest: Rest) => Made) {
  function either(text: string, ...rest: Rest): Made
  function either(strings: TemplateStringsArray, ...values: unknown[]): Made
  function either(text: string | TemplateStringsArray, ...rest: unknown[]): Made {
    return typeof text === 'string'
      ? make(text, ...(rest as Rest))
      : make(String.raw({ raw: text }, ...rest), ...([] as never))
  }
  return either
}

/** A document with content from this script only; `show(text)` adds a line. */
export const scripted = taggable(
  (
    script,
    head = '',
  ) => `<!doctype html><html><head><title>t</title>${head}</head><body><ul id="out"></ul><script>
    function show(text) { const li = document.createElement('li'); li.textContent = text; out.append(li) }
    ${script}
  </script></body></html>`,
)
