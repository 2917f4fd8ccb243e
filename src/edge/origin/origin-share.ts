import { createCounter } from '../../http/client-limits.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest } from '../server/exchange.ts'
import type { Pass } from './pass.ts'

/**
 * Of one domain's requests that are with its origin, so many may be of one
 * client: a browser asks for 100 at once over HTTP/2, an office for more, and of
 * the connections that there are to one origin (`src/outbound/client/pool.ts`) it is less than a
 * fifth, of those for handshakes three quarters. Who holds more, be it by slow bodies or by
 * taking answers slowly, holds up himself and nobody else.
 */
export const MOST_OF_ONE_CLIENT = 192

export type OriginShare = ReturnType<typeof createOriginShare>

/** `clientOf` is null for clients that are not limited. */
export function createOriginShare(clientOf: (req: EdgeRequest) => string | null) {
  const underWay = createCounter(MOST_OF_ONE_CLIENT)

  /** Counts until what it gives is called, however often; null: it is one too many. */
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
    /** The same for requests, until they are answered. */
    limit(pass: Pass): Pass {
      return (req, res, domain, verdict) => {
        const leave = enter(req, domain)
        if (leave === null) return sendPlainPage(res, 'too-many-requests', verdict)
        res.on('close', leave)
        pass(req, res, domain, verdict)
      }
    },
  }
}
