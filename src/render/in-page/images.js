// Runs first in every document, beside new-document.js. Images are not
// downloaded: Chromium is started with them off, which spares each page a third
// of its work (a request held and answered for each image was measured at 1.5 ms).
// It then fires neither `load` nor `error`, and pages wait for one of them
// before they show a picture or take its placeholder away. So each image is
// reported as loaded here, a moment after its address is known.
;(() => {
  const { setTimeout, queueMicrotask, Event, MutationObserver } = window
  const image = HTMLImageElement.prototype
  /** @param {object} target @param {string} name */
  const nativeOf = (target, name) => Object.getOwnPropertyDescriptor(target, name) ?? {}
  const { get: complete } = nativeOf(image, 'complete')
  const { get: naturalWidth } = nativeOf(image, 'naturalWidth')
  const { get: naturalHeight } = nativeOf(image, 'naturalHeight')
  const { get: currentSrc } = nativeOf(image, 'currentSrc')
  const { get: shadowRoot } = nativeOf(Element.prototype, 'shadowRoot')
  const nativeDecode = image.decode

  /** The address each image was last reported for; null while that is still to come. @type {WeakMap<Element, string | null>} */
  const reported = new WeakMap()

  /** An address that Chromium would have fetched; data and blob images load by themselves. @param {HTMLImageElement} img */
  const remoteAddress = (img) => {
    const address =
      img.getAttribute('src') || img.getAttribute('srcset') || (isInPicture(img) ? 'picture' : '')
    return address === '' || /^\s*(?:data|blob):/i.test(address) ? null : address
  }
  /** @param {HTMLImageElement} img */
  const isInPicture = (img) =>
    img.parentElement instanceof HTMLPictureElement &&
    img.parentElement.querySelector('source[srcset]') !== null

  /** Whose address is known, and who will be reported with the next timer: one for all, large pages have thousands. @type {HTMLImageElement[]} */
  let due = []
  const report = () => {
    const images = due
    due = []
    // By index: pages replace what `of` stands on.
    for (let at = 0; at < images.length; at++) {
      const img = images[at]
      const loaded = remoteAddress(img)
      if (loaded === null) {
        reported.delete(img)
        continue
      }
      reported.set(img, loaded)
      img.dispatchEvent(new Event('load'))
    }
  }

  /** @param {HTMLImageElement} img */
  const see = (img) => {
    const address = remoteAddress(img)
    if (address === null || reported.get(img) === address) return
    const wasWaiting = reported.get(img) === null
    reported.set(img, null)
    if (wasWaiting) return
    if (due.length === 0) setTimeout(report, 1)
    due[due.length] = img
  }

  /** @param {Element} element */
  const seeAll = (element) => {
    if (element instanceof HTMLImageElement) see(element)
    else if (element.firstElementChild !== null)
      for (const img of element.getElementsByTagName('img')) see(/** @type {HTMLImageElement} */ (img))
    const root = shadowRoot?.call(element)
    if (root) watch(root)
  }

  const observer = new MutationObserver((records) => {
    for (const { type, target, addedNodes } of records) {
      if (type === 'attributes') {
        if (target instanceof HTMLImageElement) see(target)
        continue
      }
      for (const node of addedNodes) if (node instanceof Element) seeAll(node)
    }
  })
  /** @param {Document | ShadowRoot} scope */
  const watch = (scope) => {
    observer.observe(scope, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ['src', 'srcset'],
    })
    for (const child of scope.children) seeAll(child)
  }
  watch(document)

  const attachShadow = Element.prototype.attachShadow
  Element.prototype.attachShadow = function (init) {
    const root = attachShadow.call(this, init)
    watch(root)
    return root
  }

  // Images that are in no document yet: `new Image()` and its like.
  for (const name of /** @type {const} */ (['src', 'srcset'])) {
    const native = nativeOf(image, name)
    Object.defineProperty(image, name, {
      ...native,
      /** @this {HTMLImageElement} @param {string} value */
      set(value) {
        native.set?.call(this, value)
        // Setting the same address again loads it again.
        if (typeof reported.get(this) === 'string') reported.delete(this)
        see(this)
      },
    })
  }

  /** @param {HTMLImageElement} img */
  const isReported = (img) => typeof reported.get(img) === 'string'
  /** Reads as a loaded image does. @param {string} name @param {(this: HTMLImageElement) => unknown} get */
  const define = (name, get) =>
    Object.defineProperty(image, name, { configurable: true, enumerable: true, get })

  define('complete', function () {
    return isReported(this) || (reported.get(this) !== null && complete?.call(this))
  })
  define('naturalWidth', function () {
    return isReported(this) ? Number(this.getAttribute('width')) || 1 : naturalWidth?.call(this)
  })
  define('naturalHeight', function () {
    return isReported(this) ? Number(this.getAttribute('height')) || 1 : naturalHeight?.call(this)
  })
  define('currentSrc', function () {
    return isReported(this) ? this.src : currentSrc?.call(this)
  })
  image.decode = function () {
    if (remoteAddress(this) === null) return nativeDecode.call(this)
    see(this)
    return new Promise((resolve) => {
      if (isReported(this)) queueMicrotask(() => resolve(undefined))
      else this.addEventListener('load', () => resolve(undefined), { once: true })
    })
  }
})()
