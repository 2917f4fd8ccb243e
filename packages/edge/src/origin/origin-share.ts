import { createCounter } from '@prepaint/runtime/http/client-limits.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest } from '../server/exchange.ts'
import type { Pass } from './pass.ts'

/**
 * Concurrent requests per client and domain that reach the origin. Browsers send 100 over HTTP/2. Less than a fifth
 * of an origin's connections (`packages/outbound/src/client/pool.ts`), so one slow client cannot block others.
 */
export const MOST_OF_ONE_CLIENT = 192

export type OriginShare = ReturnType<typeof createOriginShare>

export function createOriginShare(clientOf: (req: EdgeRequest) => string | null) {
  const underWay = createCounter(MOST_OF_ONE_CLIENT)

  /** Returns an idempotent release function; null: limit reached. */
  function enter(req: EdgeRequest, domain: EdgeDomain): (() => void) | null {
    const client = clientOf(req)
    if (client === null) return () => {}
    const share = `${domain.id} ${client}`
    if (!underWay.enter(share)) return null
    let left = false
    return () => {
      if (!left) underWay.leave(share)
      left = true
    }
  }

  return {
    enter,
    limit(pass: Pass): Pass {
      return (req, res, domain, verdict, how) => {
        const leave = enter(req, domain)
        if (leave === null) return sendPlainPage(res, 'too-many-requests', verdict)
        res.on('close', leave)
        pass(req, res, domain, verdict, how)
      }
    },
  }
}
