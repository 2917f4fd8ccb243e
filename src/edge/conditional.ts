import type { IncomingHttpHeaders } from 'node:http'

import { httpDateMs } from './http-date.ts'

/**
 * Whether the client already has it (RFC 9110, section 13). If-None-Match
 * compares weakly and, where present, alone decides; `etag` is that of the
 * encoding that would be sent. `lastModifiedMs` is in whole seconds.
 */
export function isNotModified(headers: IncomingHttpHeaders, etag: string, lastModifiedMs: number): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) {
    if (noneMatch === etag || noneMatch.trim() === '*') return true
    return noneMatch.split(',').some((item) => item.trim().replace(/^W\//, '') === etag)
  }
  const since = headers['if-modified-since']
  if (since === undefined) return false
  // A malformed date is ignored (section 13.1.3): NaN compares false. What was rendered is of this century.
  return lastModifiedMs <= httpDateMs(since, lastModifiedMs)
}
