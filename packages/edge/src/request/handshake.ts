import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Handled, handledAs, passVerdict } from '@prepaint/contract/outcome/verdict.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import { toOriginForm } from '@prepaint/runtime/http/origin-form.ts'
import type { OriginShare } from '../origin/origin-share.ts'
import { type Handshake, refuseHandshake, type WebSockets } from '../origin/upgrade.ts'
import type { PlainPage } from '../page/plain-page.ts'
import { refusalOf, sendRefusal } from './crawler-policy.ts'
import { DomainUnavailable, type EdgeDomain } from './domain.ts'
import type { Entrance, HandlerParts } from './handler.ts'

/** May be called more than once. `status` is 0 if nothing was sent, or if the connection became a WebSocket. */
type Settled = (handled: Handled, status?: number) => void

/** Passes WebSocket handshakes to the origin, unless the owner decided otherwise, and reports the result. Never throws. */
export function createHandshakeHandler(
  parts: HandlerParts,
  entrance: Entrance,
  share: OriginShare,
  webSockets: WebSockets,
) {
  const { log, domains, targets, ownAnswers, requestIds, report } = parts

  return (handshake: Handshake): void => {
    const { req } = handshake
    requestIds.assign(req)
    const started = report.now()
    let isReported = false
    const settled: Settled = (handled, status = 0) => {
      if (!isReported) report.end(req, started, handled, status)
      isReported = true
    }
    pass(handshake, settled).catch((error: Error) => {
      if (error instanceof DomainUnavailable) {
        refuse(handshake, 'unknown-for-now', handledAs('none; database'), settled)
        return
      }
      log.error({ err: error, host: req.headers.host }, 'a WebSocket could not be passed')
      refuse(handshake, 'unavailable', handledAs('none; fault'), settled)
    })
  }

  async function pass(handshake: Handshake, settled: Settled): Promise<void> {
    const { req } = handshake
    if (!toOriginForm(req)) return refuse(handshake, 'bad-request', handledAs('none; bad-request'), settled)
    const domain = await domains.find(req.headers.host ?? '')
    if (domain === null) return refuse(handshake, 'unknown-host', handledAs('none; unknown-host'), settled)
    const crawler = entrance.categoryOf(req.headers['user-agent'], domain.crawlers)
    if (await answerOwn(handshake, domain, { crawler, settled })) return
    const verdict = passVerdict(crawler === null ? 'not-a-crawler' : 'method')
    // The domain is left out, so that a handshake does not count as traffic.
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

  /** Sends the owner's redirect, or a refusal of this crawler. Returns false if nothing was sent. */
  async function answerOwn(
    handshake: Handshake,
    domain: EdgeDomain,
    { crawler, settled }: { crawler: CrawlerCategory | null; settled: Settled },
  ): Promise<boolean> {
    const { req } = handshake
    const url = req.url ?? '/'
    const target = targets.of(domain, url, crawler)
    const refusal = refusalOf(domain, crawler, { url, target })
    if (target.own?.kind !== 'redirect' && refusal === null) return false
    const res = responseTo(handshake)
    let verdict = null
    if (target.own?.kind === 'redirect') verdict = await ownAnswers.send(req, res, domain, target.own)
    else if (refusal !== null) verdict = sendRefusal(req, res, domain, refusal)
    if (typeof verdict !== 'string') return false
    settled({ verdict, domain, page: null, crawler }, res.statusCode)
    return true
  }
}

/** Makes a response with which the connection ends. */
function responseTo({ req, socket }: Handshake): ServerResponse {
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.assignSocket(socket as Socket)
  res.on('finish', () => socket.end())
  return res
}

function refuse(handshake: Handshake, page: PlainPage, handled: Handled, settled: Settled): void {
  refuseHandshake(handshake, page, handled.verdict)
  settled(handled)
}
