import type { PlainPage } from '../../edge/page/plain-page.ts'

/** The origin did not answer, or gave no connection, in time. */
export class OriginSilent extends Error {
  override name = 'OriginSilent'
}

/** The client did not send its body in time. */
export class ClientSlow extends Error {
  override name = 'ClientSlow'
}

/** What people read when the origin could not be asked or did not answer. */
export function pageFor(error: Error): PlainPage {
  if (error instanceof OriginSilent) return 'gateway-timeout'
  if (error instanceof ClientSlow) return 'slow-request'
  const fault = 'fault' in error ? error.fault : null // of a ConnectError
  if (fault === 'timed-out') return 'gateway-timeout'
  return fault === 'refused-address' ? 'refused-origin' : 'bad-gateway'
}
