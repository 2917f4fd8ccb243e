import type http from 'node:http'
import { after } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import { type Clock, systemClock } from '../../src/clock.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { GatewayLimits } from '../../src/gateway/request-counts.ts'
import type { DomainName, PagePath } from '../../src/ids.ts'
import { silentLog } from '../../src/log.ts'
import type { PageLimits, RenderOutcome, RenderRequest } from '../../src/render/outcome.ts'
import { type RendererOptions, startRenderer } from '../../src/render/renderer.ts'
import { makeDataDir, removeDir, testChromium } from './data-dir.ts'
import { serve } from './loopback.ts'

export const TEST_IDENTITY = 'Prepaint/0.0.0-test (+https://render.example/bot)'

export type Answer = string | ((request: http.IncomingMessage, response: http.ServerResponse) => void)

export type TestRenderer = Awaited<ReturnType<typeof startTestRenderer>>

type Asked = { domain?: string; signal?: AbortSignal; originUrl?: string }

export async function startTestRenderer(
  options: {
    slots?: number
    timeoutMs?: number
    limits?: Partial<PageLimits>
    gatewayLimits?: Partial<GatewayLimits>
    clock?: Clock
    recycle?: RendererOptions['recycle']
  } = {},
) {
  /** A string is HTML. Missing paths return 404 without a body. */
  const routes = new Map<string, Answer>()
  const asked: string[] = []
  const {
    server: origin,
    url: originUrl,
    close: closeOrigin,
  } = await serve((request, response) => {
    asked.push(request.url ?? '')
    const answer = routes.get(request.url ?? '') ?? routes.get((request.url ?? '').split('?')[0] ?? '')
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'function') answer(request, response)
    else response.setHeader('content-type', 'text/html; charset=utf-8').end(answer)
  })

  const dataDir = makeDataDir()
  const log = silentLog()
  const renderer = await startRenderer({
    identity: TEST_IDENTITY,
    chromium: testChromium,
    dataDir,
    slots: options.slots ?? 2,
    timeoutMs: options.timeoutMs ?? 20_000,
    requireSandbox: false,
    openGateway: () =>
      startGateway({
        allowed: [{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }],
        log,
        limits: options.gatewayLimits ?? {},
      }),
    recycle: options.recycle ?? {},
    limits: options.limits ?? {},
    clock: options.clock ?? systemClock,
    log,
  })

  const explained = (
    path: string,
    given: Asked &
      Partial<Pick<RenderRequest, 'captureByMs' | 'rule' | 'block' | 'visitor' | 'originHeaders'>> = {},
  ) =>
    renderer.render({
      customDomain: (given.domain ?? 'shop.example') as DomainName,
      originUrl: given.originUrl ?? originUrl,
      path: path as PagePath,
      captureByMs: given.captureByMs ?? null,
      ...{ rule: given.rule, block: given.block, visitor: given.visitor, originHeaders: given.originHeaders },
      signal: given.signal ?? new AbortController().signal,
    })
  const page = async (path: string, given?: Asked) => (await explained(path, given)).outcome
  const html = async (path: string, given?: Asked) => {
    const outcome = await page(path, given)
    if (outcome.kind === 'rendered') return outcome.html
    throw new Error(`${path}: ${JSON.stringify(outcome)}`)
  }

  return {
    ...{ renderer, dataDir, originUrl, asked, routes, origin, explained, page, html },
    ...{ render: renderer.render, sandbox: renderer.sandbox },
    browsers: renderer.browsers,
    get healthy() {
      return renderer.healthy
    },
    /** The HTML of a page with content from this script only. */
    htmlOf(script: string) {
      routes.set('/scripted', scripted(script))
      return html('/scripted')
    },
    /** Lines that the page has added with `show`. */
    shown: async (path: string, given?: Asked) =>
      [...(await html(path, given)).matchAll(/<li>(.*?)<\/li>/g)].map(([, text = '']) => text),
    async close() {
      await renderer.close()
      await closeOrigin()
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

/** Renders a page beside pages of another domain, which must all come out whole, as must the next one of its own. */
export async function besideAnother(renderer: TestRenderer, path: string): Promise<RenderOutcome> {
  renderer.routes.set('/sound', '<!doctype html><title>t</title><p>sound</p>')
  const sound = async (domain: string) => {
    const html = await renderer.html('/sound', { domain })
    if (!html.includes('<p>sound</p>')) throw new Error(html)
  }
  let isOver = false
  const hostile = renderer.page(path, { domain: 'hostile.example' }).finally(() => {
    isOver = true
  })
  for (let others = 0; !isOver || others < 2; others++) {
    await sound('other.example')
    // Some five a second.
    await Promise.race([hostile, delay(200)])
  }
  const outcome = await hostile
  await sound('hostile.example')
  return outcome
}
