// Chromium downloads no images (each was measured at 1.5 ms) and sends neither `load` nor `error`. Pages wait for one
// of them, so report each image as loaded.
{
  const { setTimeout, queueMicrotask, Event, MutationObserver } = window
  const { add, has } = Set.prototype
  const image = HTMLImageElement.prototype
  const { get: shadowRoot } = Object.getOwnPropertyDescriptor(Element.prototype, 'shadowRoot') ?? {}

  /** The last reported address; null while a report is due. @type {WeakMap<Element, string | null>} */
  const reported = new WeakMap()

  /** Data and blob images load by themselves. @param {HTMLImageElement} img */
  const remoteAddress = (img) => {
    const address =
      img.getAttribute('src') || img.getAttribute('srcset') || (isInPicture(img) ? 'picture' : '')
    return address === '' || /^\s*(?:data|blob):/i.test(address) ? null : address
  }
  /** @param {HTMLImageElement} img */
  const isInPicture = (img) =>
    img.parentElement instanceof HTMLPictureElement &&
    img.parentElement.querySelector('source[srcset]') !== null

  /** One timer reports them all; large pages have thousands. @type {HTMLImageElement[]} */
  let due = []
  const reportAll = () => {
    const images = due
    due = []
    // By index: pages replace what `for ... of` uses.
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
    if (due.length === 0) setTimeout(reportAll, 1)
    due[due.length] = img
  }

  /** @param {Element} element */
  const seeOwn = (element) => {
    if (element instanceof HTMLImageElement) see(element)
    const root = shadowRoot?.call(element)
    if (root) watch(root)
  }
  /** @param {Element} element */
  const seeAll = (element) => {
    if (element.firstElementChild !== null)
      for (const img of element.getElementsByTagName('img')) see(/** @type {HTMLImageElement} */ (img))
    seeOwn(element)
  }

  const observer = new MutationObserver((records) => {
    // Elements that were added to one another are seen once.
    /** @type {Set<Node | null>} */
    const seen = new Set()
    for (const { type, target, addedNodes } of records) {
      if (type === 'attributes') {
        if (target instanceof HTMLImageElement) see(target)
        continue
      }
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue
        if (apply(has, seen, [target])) seeOwn(node)
        else seeAll(node)
        if (node.firstChild !== null) apply(add, seen, [node])
      }
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

  intercept(Element.prototype, 'attachShadow', (native, self, given) => {
    const root = apply(native, self, given)
    watch(root)
    return root
  })

  // For images outside a document, such as `new Image()`.
  for (const name of ['src', 'srcset']) {
    const native = Object.getOwnPropertyDescriptor(image, name)
    Object.defineProperty(image, name, {
      ...native,
      /** @this {HTMLImageElement} @param {string} value */
      set(value) {
        native?.set?.call(this, value)
        // Setting the same address loads it again.
        if (typeof reported.get(this) === 'string') reported.delete(this)
        see(this)
      },
    })
  }

  /** @param {HTMLImageElement} img */
  const isReported = (img) => typeof reported.get(img) === 'string'
  /** @param {string} name @param {(img: HTMLImageElement) => unknown} shown */
  const showLoaded = (name, shown) =>
    intercept(image, name, (native, img, given) => (isReported(img) ? shown(img) : apply(native, img, given)))
  intercept(
    image,
    'complete',
    (native, img) => isReported(img) || (reported.get(img) !== null && apply(native, img, [])),
  )
  showLoaded('naturalWidth', (img) => Number(img.getAttribute('width')) || 1)
  showLoaded('naturalHeight', (img) => Number(img.getAttribute('height')) || 1)
  showLoaded('currentSrc', (img) => img.src)
  intercept(image, 'decode', (native, img) => {
    if (remoteAddress(img) === null) return apply(native, img, [])
    see(img)
    return new Promise((resolve) => {
      if (isReported(img)) queueMicrotask(() => resolve(undefined))
      else nativeListen.call(img, 'load', () => resolve(undefined), { once: true })
    })
  })
}
