import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

import { type AddressRanges, createClientReader, isAmong } from './client-address.ts'

type Head = {
  headers: IncomingHttpHeaders
  socket: { remoteAddress?: string | undefined; encrypted?: unknown }
}

/** What is safe in a log line and a header. */
const WELL_FORMED = /^[\w.:+/=@-]{8,128}$/

/** 120 random bits: an id says nothing about other requests, nor how many there were. */
const ID_BYTES = 15
const ID_CHARS = 20
/** Ids made at a time: 60 ns for one, where asking for random bytes each time takes 300 ns. */
const IDS_AT_A_TIME = 256

/**
 * Returns the id of a request: `X-Request-Id` where a trusted proxy has set it, else a new one. The header of any other
 * client is ignored, as it could repeat the id of another request.
 */
export function createRequestIds(trusted: AddressRanges): (request: Head) => string {
  const peer = createClientReader([])
  let ids = ''
  let next = 0
  return (request) => {
    const given = request.headers['x-request-id']
    if (given !== undefined && trusted.length > 0 && typeof given === 'string' && WELL_FORMED.test(given)) {
      const { address } = peer({ headers: {}, socket: request.socket })
      if (address !== '' && isAmong(address, trusted)) return given
    }
    if (next === ids.length) {
      ids = randomBytes(ID_BYTES * IDS_AT_A_TIME).toString('base64url')
      next = 0
    }
    const id = ids.slice(next, next + ID_CHARS)
    next += ID_CHARS
    return id
  }
}

/** The id that a request was given by `createRequestIds`; empty: none. */
export function requestIdOf({ headers }: { headers: IncomingHttpHeaders }): string {
  const id = headers['x-request-id']
  return typeof id === 'string' ? id : ''
}

/** The same as a header (flat); empty: none. */
export function requestIdHeader(request: { headers: IncomingHttpHeaders }): string[] {
  const id = requestIdOf(request)
  return id === '' ? [] : ['X-Request-Id', id]
}
