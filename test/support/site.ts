import type http from 'node:http'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import { createAddressGuard, readOrigin } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import ipaddr from 'ipaddr.js'
import { serve } from './loopback.ts'

export type TestAnswer =
  | string
  | Buffer
  | { status: number; location?: string; body?: string }
  | ((res: http.ServerResponse) => void)

/** `answers`: by path; 404 if missing. A function writes the response itself. */
export async function startTestSite() {
  const answers: Record<string, TestAnswer> = {}
  const asked: string[] = []
  const served = await serve((req, res) => {
    asked.push(req.url!)
    started.lastHeaders = req.headers
    const answer = answers[req.url!] ?? { status: 404 }
    if (typeof answer === 'function') return answer(res)
    if (typeof answer === 'string' || Buffer.isBuffer(answer)) return void res.end(answer)
    res.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location })
    res.end(answer.body)
  })
  const origins = createClient(createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]))
  const site: Site = {
    id: 1 as DomainId,
    name: 'red.example' as DomainName,
    origin: readOrigin(served.url, 'test'),
    query: 'keep',
  }
  const started = {
    site,
    options: { origins, userAgent: 'Prepaint/0.0.0-test' },
    origin: served.url,
    answers,
    asked,
    lastHeaders: {} as http.IncomingHttpHeaders,
    async close() {
      origins.close()
      await served.close()
    },
  }
  return started
}
