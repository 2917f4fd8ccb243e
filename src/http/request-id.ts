import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

import { type AddressRanges, createClientReader, isAmong } from './client-address.ts'

type Asked = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

/** What may stand in a log and a header as it is. */
const WELL_FORMED = /^[\w.:+/=@-]{8,128}$/

/**
 * Names requests: as a trusted proxy has named them in `X-Request-Id`, else
 * anew. What anybody else says is not taken: he could give his the name of
 * another's. New ones are of this run of the node and count up.
 */
export function createRequestIds(trusted: AddressRanges): (request: Asked) => string {
  const run = randomBytes(9).toString('base64url')
  const peer = createClientReader([])
  let count = 0
  return (request) => {
    const given = request.headers['x-request-id']
    if (given !== undefined && trusted.length > 0 && typeof given === 'string' && WELL_FORMED.test(given)) {
      const { address } = peer({ headers: {}, socket: request.socket })
      if (address !== '' && isAmong(address, trusted)) return given
    }
    count++
    return `${run}-${count.toString(36)}`
  }
}

/** The name that a request was given, see above; empty: none. */
export function requestIdOf({ headers }: { headers: IncomingHttpHeaders }): string {
  const id = headers['x-request-id']
  return typeof id === 'string' ? id : ''
}

/** The same as a header (flat), for whom it is to be told; empty: none. */
export function requestIdHeader(request: { headers: IncomingHttpHeaders }): string[] {
  const id = requestIdOf(request)
  return id === '' ? [] : ['X-Request-Id', id]
}
