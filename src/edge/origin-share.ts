import { createCounter } from '../http/counter.ts'
import type { Pass } from './pass.ts'
import { sendPlainPage } from './plain-page.ts'

/**
 * Of one domain's requests that are with its origin, so many may be of one
 * client: three quarters of the connections that there are to one origin
 * (`src/gateway/guarded-agents.ts`). Who asks for more at a time, be it by slow
 * bodies or by taking answers slowly, holds up himself and nobody else.
 */
export const MOST_OF_ONE_CLIENT = 48

/** `clientOf` is null for clients who are not limited. */
export function shareOrigins(pass: Pass, clientOf: (req: Parameters<Pass>[0]) => string | null): Pass {
  const underWay = createCounter(MOST_OF_ONE_CLIENT)
  return (req, res, domain, verdict) => {
    const client = clientOf(req)
    if (client !== null) {
      const share = `${domain.id} ${client}`
      if (!underWay.enter(share)) return sendPlainPage(res, 'too-many-requests', verdict)
      res.once('close', () => underWay.leave(share))
    }
    pass(req, res, domain, verdict)
  }
}
