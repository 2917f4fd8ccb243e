// Films and sounds are not downloaded. The page sees media that is still loading, never media that is broken.
{
  const { HTMLMediaElement, HTMLSourceElement } = window
  const { closest } = Element.prototype

  const { begin } = realTimeWork()
  /** @param {string} address */
  const isOwnBytes = (address) => /^\s*(?:data|blob|mediastream):/i.test(address)
  /** Media of the network, which the gateway refuses. @param {HTMLMediaElement} media */
  const isRemote = (media) => {
    const address = media.currentSrc || media.getAttribute('src')
    if (address) return !isOwnBytes(address)
    if (media.srcObject) return false
    for (const source of media.children) {
      const src = source instanceof HTMLSourceElement ? source.getAttribute('src') : null
      if (src !== null && !isOwnBytes(src)) return true
    }
    return false
  }
  /** @param {unknown} target */
  const isRefused = (target) => {
    if (target instanceof HTMLMediaElement) return isRemote(target)
    if (!(target instanceof HTMLSourceElement) || apply(closest, target, ['audio, video']) === null)
      return false
    return !isOwnBytes(target.getAttribute('src') ?? '')
  }
  /** @param {Event} event */
  const hideError = (event) => {
    if (event.isTrusted && isRefused(event.target)) event.stopImmediatePropagation()
  }
  nativeListen.call(window, 'error', hideError, true)
  // Elements outside of a document send their events to nobody else.
  /** @type {WeakSet<object>} */
  const guarded = new WeakSet()
  /** @param {unknown} self */
  const guard = (self) => {
    if (!(self instanceof HTMLMediaElement || self instanceof HTMLSourceElement) || guarded.has(self)) return
    guarded.add(self)
    nativeListen.call(self, 'error', hideError, true)
  }
  intercept(EventTarget.prototype, 'addEventListener', (native, self, given) => {
    if (given[0] === 'error') guard(self)
    return apply(native, self, given)
  })
  const onError = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'onerror')
  Object.defineProperty(HTMLElement.prototype, 'onerror', {
    ...onError,
    /** @this {HTMLElement} @param {OnErrorEventHandler} handler */
    set(handler) {
      guard(this)
      onError?.set?.call(this, handler)
    },
  })

  // Films of the page's own bytes are read in real time, which the page's clock does not wait for.
  /** @type {WeakSet<HTMLMediaElement>} */
  const reading = new WeakSet()
  const { MediaSource } = window
  const { add, has } = Set.prototype
  /** Addresses of what scripts feed with pieces of the network. @type {Set<string>} */
  const fed = new Set()
  intercept(URL, 'createObjectURL', (native, self, given) => {
    const address = apply(native, self, given)
    if (MediaSource && given[0] instanceof MediaSource) apply(add, fed, [address])
    return address
  })
  /** @param {HTMLMediaElement} media */
  const waitUntilRead = (media) => {
    if (reading.has(media) || isRemote(media) || media.srcObject || media.preload === 'none') return
    if (apply(has, fed, [media.src])) return
    reading.add(media)
    const end = begin()
    for (const type of ['loadeddata', 'error', 'emptied', 'suspend'])
      nativeListen.call(
        media,
        type,
        () => {
          reading.delete(media)
          end()
        },
        { once: true },
      )
  }
  nativeListen.call(
    window,
    'loadstart',
    ({ target }) => {
      if (target instanceof HTMLMediaElement) waitUntilRead(target)
    },
    true,
  )
  const source = Object.getOwnPropertyDescriptor(HTMLMediaElement.prototype, 'src')
  Object.defineProperty(HTMLMediaElement.prototype, 'src', {
    ...source,
    /** @this {HTMLMediaElement} @param {string} address */
    set(address) {
      source?.set?.call(this, address)
      waitUntilRead(this)
    },
  })

  intercept(HTMLMediaElement.prototype, 'error', (native, media) => {
    const error = apply(native, media, [])
    return error !== null && isRemote(media) ? null : error
  })
  intercept(HTMLMediaElement.prototype, 'networkState', (native, media) => {
    const state = apply(native, media, [])
    return state === HTMLMediaElement.NETWORK_NO_SOURCE && isRemote(media)
      ? HTMLMediaElement.NETWORK_LOADING
      : state
  })
  intercept(HTMLMediaElement.prototype, 'play', (native, media, given) => {
    const result = apply(native, media, given)
    if (!(result instanceof Promise)) return result
    return new Promise((resolve, reject) => {
      then.call(result, resolve, (/** @type {DOMException} */ error) => {
        if (error.name !== 'NotSupportedError' || !isRemote(media)) reject(error)
      })
    })
  })

  // The gateway's own policy (packages/engine/src/gateway/own-domain.ts) is not the page's.
  nativeListen.call(
    window,
    'securitypolicyviolation',
    (event) => {
      const { effectiveDirective, originalPolicy } = /** @type {SecurityPolicyViolationEvent} */ (event)
      const isOurs = originalPolicy.startsWith('font-src data: blob:; media-src')
      if (isOurs && /^(?:font|media)-src$/.test(effectiveDirective)) event.stopImmediatePropagation()
    },
    true,
  )
}
