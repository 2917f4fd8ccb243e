import { type GatewaySite, SIGN_IN_URL } from '../../gateway/site.ts'
import type { CdpConnection } from '../browser/cdp.ts'

/**
 * Gives the browser the credentials of its gateway. Chromium keeps them for the whole context: it shows them with every
 * request, without being asked, and no wipe of storage removes them. `targetId` is any page of the context that has not
 * begun to navigate. Rejects if the gateway has not seen the credentials.
 */
export async function signIn(cdp: CdpConnection, targetId: string, site: GatewaySite): Promise<void> {
  const { username, password } = site.credentials
  const { sessionId } = await cdp.browser.send('Target.attachToTarget', { targetId, flatten: true })
  const session = cdp.session(sessionId)
  session.listen({
    // Chromium shows the challenges of intercepted requests only.
    'Fetch.requestPaused': ({ requestId }) => {
      void session.send('Fetch.continueRequest', { requestId }).catch(() => {})
    },
    'Fetch.authRequired': ({ requestId }) => {
      const authChallengeResponse = { response: 'ProvideCredentials', username, password } as const
      void session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse }).catch(() => {})
    },
  })
  await Promise.all([
    session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: SIGN_IN_URL }] }),
    // The answer has no content, so the page stays where it is.
    session.send('Page.navigate', { url: SIGN_IN_URL }),
  ])
  void cdp.browser.send('Target.detachFromTarget', { sessionId }).catch(() => {})
  cdp.endSession(sessionId)
  if (!site.isSignedIn) throw new Error('the browser did not sign in at its gateway')
}
