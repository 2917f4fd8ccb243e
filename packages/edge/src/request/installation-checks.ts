import type { Way } from '@prepaint/contract/api/fronts.ts'
import { checkTokenOf, withoutCheckToken } from '@prepaint/contract/page/check-token.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeBackend } from '../backend.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'

/** Answers requests that show by which way crawlers come. They cause no render, and the origin does not see them. */
export class InstallationChecks {
  readonly #backend: EdgeBackend
  readonly #log: Log
  readonly #way: Way

  constructor(backend: EdgeBackend, log: Log, way: Way) {
    this.#backend = backend
    this.#log = log
    this.#way = way
  }

  /** Returns those of requests that come by another way. */
  of(way: Way): InstallationChecks {
    return new InstallationChecks(this.#backend, this.#log, way)
  }

  /** Returns whether it has answered. Otherwise it removes a token that is none. Never rejects. */
  async answer(req: EdgeRequest, res: EdgeResponse, domain: EdgeDomain): Promise<boolean> {
    const url = req.url ?? '/'
    const token = checkTokenOf(url)
    if (token === null) return false
    req.url = withoutCheckToken(url)
    if (req.method !== 'GET' && req.method !== 'HEAD') return false
    const arrival = { way: this.#way, path: req.url, headers: req.headers }
    const text = await this.#backend.receiveCheck(domain.id, token, arrival).catch((error: Error) => {
      this.#log.warn({ err: error, domain: domain.name }, 'a check of a front could not be looked up')
      return null
    })
    if (text === null) return false
    const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="robots" content="noindex"><title>Prepaint</title>
<p>${text}</p></html>
`
    const headers = [
      'Content-Type',
      'text/html; charset=utf-8',
      'Content-Length',
      `${Buffer.byteLength(body)}`,
    ]
    headers.push('Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff')
    headers.push('X-Prepaint', 'check', 'X-Request-Id', requestIdOf(req))
    res.writeHead(200, headers)
    res.end(req.method === 'HEAD' ? undefined : body)
    return true
  }
}
