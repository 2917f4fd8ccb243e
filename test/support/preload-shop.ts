/** Test support: a shop whose pages are opened by a client that speaks as a browser does. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import type { TestContext } from 'node:test'

import type { GatewayLimits } from '../../src/gateway/request-counts.ts'
import { CUSTOM_DOMAIN, startTestGateway } from './gateway.ts'

export type Ask = {
  path: string
  method?: string
  destination?: string
  headers?: Record<string, string>
  body?: string
}

/** What a page of the shop asks for. */
export const USUAL = (name: string): Ask[] => [{ path: `/api/menu` }, { path: `/api/${name}` }]

/** An origin that answers what was asked for, and how often that was; `origin` may answer first. */
export async function startShop(
  t: TestContext,
  options: {
    limits?: Partial<GatewayLimits>
    preload?: boolean
    origin?(request: http.IncomingMessage, response: http.ServerResponse): boolean
  } = {},
) {
  /** All that the origin was asked for, in its order. */
  const asked: string[] = []
  const broken: string[] = []
  const { own, openOwn, site } = await startTestGateway(t, {
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    preload: options.preload ?? true,
    origin(request, response) {
      const { method, url = '' } = request
      asked.push(method === 'GET' ? url : `${method} ${url}`)
      response.on('close', () => response.writableFinished || broken.push(url))
      if (options.origin?.(request, response)) return
      response.end(`${url} for ${request.headers.referer ?? 'nobody'}`)
    },
  })

  /** Opens a page; `asked` begins anew behind it. */
  const open = async (path: string) => {
    site.judgeNext(() => true)
    asked.splice(0)
    const { status } = await own(path, { 'sec-fetch-dest': 'document' })
    assert.equal(status, 200)
    assert.equal(asked.shift(), path)
  }
  const ask = ({ path, method = 'GET', destination = 'empty', headers = {}, body }: Ask, page: string) => {
    const referer = `https://${CUSTOM_DOMAIN}${page}`
    return own(path, { ':method': method, 'sec-fetch-dest': destination, referer, ...headers }, body)
  }
  const visit = async (page: string, asks: readonly Ask[]) => {
    await open(page)
    for (const one of asks) await ask(one, page)
    const preloaded = site.preloaded()
    site.takeCounts()
    return preloaded
  }
  /** Four pages are opened: the first by a new browser, which has no scripts yet. */
  const train = async (asksOf: (name: string) => readonly Ask[] = USUAL) => {
    for (const name of ['one', 'two', 'three', 'four']) await visit(`/p/${name}`, asksOf(name))
  }
  return { asked, broken, site, openOwn, open, ask, visit, train }
}
