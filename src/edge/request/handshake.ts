import { toOriginForm } from '../../http/origin-form.ts'
import type { Log } from '../../log.ts'
import type { OriginShare } from '../origin/origin-share.ts'
import { type Handshake, refuseHandshake, type WebSockets } from '../origin/upgrade.ts'
import type { PlainPage } from '../page/plain-page.ts'
import type { Domains } from './domain.ts'
import type { Entrance } from './handler.ts'
import type { Report } from './report.ts'
import { type Handled, handledAs, passVerdict } from './verdict.ts'

type HandshakeParts = {
  log: Log
  domains: Domains
  report: Report
  share: OriginShare
  webSockets: WebSockets
}

/** Passes WebSocket handshakes to the origin and reports the result. Never throws. */
export function createHandshakeHandler(parts: HandshakeParts, entrance: Entrance) {
  const { log, domains, report, share, webSockets } = parts

  return (handshake: Handshake): void => {
    const { req } = handshake
    const started = report.begin(req)
    let isReported = false
    const settled = (handled: Handled) => {
      if (!isReported) report.end(req, started, handled, 0)
      isReported = true
    }
    pass(handshake, settled).catch((error: Error) => {
      log.error({ err: error, host: req.headers.host }, 'a WebSocket could not be passed')
      refuse(handshake, 'unavailable', handledAs('none; fault'), settled)
    })
  }

  /** `settled` may be called more than once. */
  async function pass(handshake: Handshake, settled: (handled: Handled) => void): Promise<void> {
    const { req } = handshake
    if (!toOriginForm(req)) return refuse(handshake, 'bad-request', handledAs('none; bad-request'), settled)
    const domain = await domains.find(req.headers.host ?? '')
    if (domain === null) return refuse(handshake, 'unknown-host', handledAs('none; unknown-host'), settled)
    const crawler = entrance.categoryOf(req.headers['user-agent'], domain.crawlers)
    const verdict = passVerdict(crawler === null ? 'not-a-crawler' : 'method')
    // Without its domain, so that a handshake does not count as traffic.
    const handled: Handled = { verdict, domain: null, page: null, crawler }
    const leave = share.enter(req, domain)
    if (leave === null) return refuse(handshake, 'too-many-requests', handled, settled)
    try {
      webSockets.pass(handshake, domain, verdict, () => {
        leave()
        settled(handled)
      })
    } catch (error) {
      leave()
      throw error
    }
  }
}

function refuse(
  handshake: Handshake,
  page: PlainPage,
  handled: Handled,
  settled: (handled: Handled) => void,
): void {
  refuseHandshake(handshake, page, handled.verdict)
  settled(handled)
}
