import assert from 'node:assert/strict'
import type http from 'node:http'
import type { TestContext } from 'node:test'

import type { GatewayLimits } from '../../src/gateway/request-counts.ts'
import { until } from './condition.ts'
import { CUSTOM_DOMAIN, startTestGateway } from './gateway.ts'

export type Ask = {
  path: string
  method?: string
  destination?: string
  headers?: Record<string, string>
  body?: string
}

export const USUAL = (name: string): Ask[] => [{ path: `/api/menu` }, { path: `/api/${name}` }]

/** An origin that counts its requests, and says what it is told to say at a path. */
export async function startShop(
  t: TestContext,
  options: { limits?: Partial<GatewayLimits>; preload?: boolean; headers?: Record<string, string> } = {},
) {
  const asked: string[] = []
  const broken: string[] = []
  const answers = new Map<string, (response: http.ServerResponse) => void>()
  const { headers = {}, ...given } = options
  const { own, openOwn, site } = await startTestGateway(t, {
    ...given,
    origin(request, response) {
      const { method, url = '' } = request
      asked.push(method === 'GET' ? url : `${method} ${url}`)
      response.on('close', () => response.writableFinished || broken.push(url))
      for (const header of Object.entries(headers)) response.setHeader(...header)
      const answer = answers.get(url)
      if (answer !== undefined) answer(response)
      else response.end(`${url} for ${request.headers.referer ?? 'nobody'}`)
    },
  })

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
    site.endPage()
    return preloaded
  }
  /** Opens four pages: the first in a new browser without cached scripts. */
  const train = async (asksOf: (name: string) => readonly Ask[] = USUAL) => {
    for (const name of ['one', 'two', 'three', 'four']) await visit(`/p/${name}`, asksOf(name))
  }
  /** A fifth page, for which both usual requests are sent ahead. */
  const trainAndOpen = async () => {
    await train()
    await open('/p/five')
    await until('they are sent', () => asked.length === 2)
  }
  return { answers, asked, broken, site, openOwn, open, ask, visit, train, trainAndOpen }
}
