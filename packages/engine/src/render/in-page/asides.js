// Requests that outlive the page (`keepalive`) or whose answer it cannot read (`no-cors` to another origin) tell Node
// before they begin, so that no capture waits for their answers. Beacons and pings need no word: Chromium names their type.
{
  const { Request, URL } = window
  /** The method and address of such a request, or null. @param {*} input @param {*} init @returns {string | null} */
  const asideOf = (input, init) => {
    const request = input instanceof Request ? input : null
    const outlives = init?.keepalive ?? request?.keepalive ?? false
    const mode = init?.mode ?? request?.mode
    if (!outlives && mode !== 'no-cors') return null
    const address = new URL(request?.url ?? input, document.baseURI)
    if (!outlives && address.origin === location.origin) return null
    address.hash = ''
    return `${(init?.method ?? request?.method ?? 'GET').toUpperCase()} ${address.href}`
  }
  intercept(window, 'fetch', (native, self, given) => {
    try {
      const aside = asideOf(given[0], given[1])
      if (aside !== null) report(`aside ${aside}`)
    } catch {
      // The native function says what is wrong.
    }
    return apply(native, self, given)
  })
}
