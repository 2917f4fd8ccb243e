import { Counter } from '@prepaint/runtime/http/client-limits.ts'
import { sendPlainPage } from '../page/plain-page.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest } from '../server/exchange.ts'
import type { Pass } from './pass.ts'

/**
 * Limits the concurrent requests of a client that reach the origin of a domain. Browsers send 100 over HTTP/2. It is less
 * than a fifth of an origin's connections (`packages/outbound/src/client/pool.ts`), so one slow client cannot block others.
 */
export const MOST_OF_ONE_CLIENT = 192

/** Refuses requests of a client that has `MOST_OF_ONE_CLIENT` under way to the domain's origin. */
export class OriginShare {
  readonly #clientOf: (req: EdgeRequest) => string | null
  readonly #underWay = new Counter(MOST_OF_ONE_CLIENT)

  /** `clientOf` returns null for a client without a limit. */
  constructor(clientOf: (req: EdgeRequest) => string | null) {
    this.#clientOf = clientOf
  }

  /** Returns a function that gives the place back, and may be called again. Returns null if the limit is reached. */
  enter(req: EdgeRequest, domain: EdgeDomain): (() => void) | null {
    const client = this.#clientOf(req)
    if (client === null) return () => {}
    const share = `${domain.id} ${client}`
    if (!this.#underWay.enter(share)) return null
    let isHeld = true
    return () => {
      if (isHeld) this.#underWay.leave(share)
      isHeld = false
    }
  }

  /** Returns `pass` with this limit. */
  limit(pass: Pass): Pass {
    return (req, res, domain, verdict, how) => {
      const leave = this.enter(req, domain)
      if (leave === null) {
        sendPlainPage(res, 'too-many-requests', verdict)
        return
      }
      res.on('close', leave)
      pass(req, res, domain, verdict, how)
    }
  }
}
