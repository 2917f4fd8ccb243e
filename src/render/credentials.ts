import type { CdpListeners } from './cdp.ts'

const WITH_CREDENTIALS = /^[a-z]+:\/\/[^/?#]*@/i

/**
 * Hears of credentials for HTTP authentication (RFC 9110, section 11), which a
 * script gives in a URL or to an XMLHttpRequest. Chromium remembers them in the
 * context, where no wiping of storage reaches them: only the context's end does.
 */
export function credentialListeners(given: () => void): CdpListeners {
  const look = (url: string) => {
    if (url.includes('@') && WITH_CREDENTIALS.test(url)) given()
  }
  return {
    'Network.requestWillBeSent': ({ request }) => look(request.url),
    // The request itself tells them only once it has been answered.
    'Network.responseReceived': ({ response }) => look(response.url),
  }
}
