import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type Clock, systemClock } from '../../src/clock.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { GatewayLimits } from '../../src/gateway/request-counts.ts'
import type { DomainName, PagePath } from '../../src/ids.ts'
import { silentLog } from '../../src/log.ts'
import type { PageLimits, RenderOutcome, RenderRequest } from '../../src/render/outcome.ts'
import type { Rendering } from '../../src/render/record.ts'
import { type Renderer, type RendererOptions, startRenderer } from '../../src/render/renderer.ts'
import { makeDataDir, removeDir, testChromium } from './data-dir.ts'

export const TEST_IDENTITY = 'Prepaint/0.0.0-test (+https://render.example/bot)'

export type Answer = string | ((request: http.IncomingMessage, response: http.ServerResponse) => void)

export type TestRenderer = Renderer & {
  readonly renderer: Renderer
  readonly dataDir: string
  readonly originUrl: string
  readonly asked: string[]
  /** A string is HTML. Missing paths return 404 without a body. */
  readonly routes: Map<string, Answer>
  readonly origin: http.Server
  page(
    path: string,
    options?: { domain?: string; signal?: AbortSignal; originUrl?: string },
  ): Promise<RenderOutcome>
  explained(
    path: string,
    options?: { domain?: string; signal?: AbortSignal; originUrl?: string } & Partial<
      Pick<RenderRequest, 'captureByMs' | 'rule' | 'block' | 'visitor' | 'originHeaders'>
    >,
  ): Promise<Rendering>
  html(path: string, options?: { domain?: string }): Promise<string>
}

export async function startTestRenderer(
  options: {
    slots?: number
    timeoutMs?: number
    limits?: Partial<PageLimits>
    gatewayLimits?: Partial<GatewayLimits>
    clock?: Clock
    recycle?: RendererOptions['recycle']
  } = {},
): Promise<TestRenderer> {
  const routes = new Map<string, Answer>()
  const asked: string[] = []
  const origin = http.createServer((request, response) => {
    asked.push(request.url ?? '')
    const answer = routes.get(request.url ?? '') ?? routes.get((request.url ?? '').split('?')[0] ?? '')
    if (answer === undefined) response.writeHead(404).end()
    else if (typeof answer === 'function') answer(request, response)
    else response.setHeader('content-type', 'text/html; charset=utf-8').end(answer)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const originUrl = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`

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

  const explained: TestRenderer['explained'] = (pagePath, given = {}) =>
    renderer.render({
      customDomain: (given.domain ?? 'shop.example') as DomainName,
      originUrl: given.originUrl ?? originUrl,
      path: pagePath as PagePath,
      captureByMs: given.captureByMs ?? null,
      rule: given.rule,
      block: given.block,
      visitor: given.visitor,
      originHeaders: given.originHeaders,
      signal: given.signal ?? new AbortController().signal,
    })
  const page: TestRenderer['page'] = async (pagePath, given) => (await explained(pagePath, given)).outcome

  return {
    renderer,
    render: renderer.render,
    get healthy() {
      return renderer.healthy
    },
    sandbox: renderer.sandbox,
    browsers: renderer.browsers,
    dataDir,
    originUrl,
    asked,
    routes,
    origin,
    page,
    explained,
    async html(pagePath, given) {
      const outcome = await page(pagePath, given)
      if (outcome.kind === 'rendered') return outcome.html
      throw new Error(`${pagePath}: ${JSON.stringify(outcome)}`)
    },
    async close() {
      await renderer.close()
      origin.close()
      origin.closeAllConnections()
      removeDir(dataDir)
    },
  }
}

export function slowJson(ms: number, value: unknown): Answer {
  return (_request, response) =>
    void setTimeout(
      () => response.setHeader('content-type', 'application/json').end(JSON.stringify(value)),
      ms,
    )
}

/** A document with content from this script only; `show(text)` adds a line. */
export function scripted(script: string, head = ''): string {
  return `<!doctype html><html><head><title>t</title>${head}</head><body><ul id="out"></ul><script>
    function show(text) { const li = document.createElement('li'); li.textContent = text; out.append(li) }
    ${script}
  </script></body></html>`
}
