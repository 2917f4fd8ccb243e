// Chromium downloads no images (each was measured at 1.5 ms) and sends neither `load` nor `error`. Pages wait for one
// of them, so report each image as loaded. Those whose bytes the page has (blob:) are decoded, for their size.
{
  const { setTimeout, queueMicrotask, Event, MutationObserver, FileReader, Image } = window
  const { begin } = realTimeWork()
  const { SVGImageElement, HTMLInputElement, HTMLLinkElement, HTMLPictureElement } = window
  const { HTMLObjectElement, HTMLEmbedElement } = window
  const { querySelectorAll } = Document.prototype
  const { add, has } = Set.prototype
  const image = HTMLImageElement.prototype
  const { get: shadowRoot } = Object.getOwnPropertyDescriptor(Element.prototype, 'shadowRoot') ?? {}

  /** The last reported address; null while a report is due. @type {WeakMap<Element, string | null>} */
  const reported = new WeakMap()

  /** What a browser would load; empty if nothing. @param {Element} element */
  const addressOf = (element) => {
    if (element instanceof HTMLImageElement) {
      const own = element.getAttribute('src') || element.getAttribute('srcset')
      return own || (isInPicture(element) ? 'picture' : '')
    }
    if (element instanceof HTMLInputElement)
      return element.type === 'image' ? (element.getAttribute('src') ?? '') : ''
    if (element instanceof HTMLLinkElement)
      return element.as === 'image' && /(?:^|\s)preload(?:\s|$)/i.test(element.rel)
        ? (element.getAttribute('href') ?? element.imageSrcset)
        : ''
    if (element instanceof SVGImageElement) return element.href.baseVal
    if (element instanceof HTMLObjectElement) return bitmapAddress(element, 'data')
    if (element instanceof HTMLEmbedElement) return bitmapAddress(element, 'src')
    return ''
  }
  /** Returns the address of a bitmap that an object shows; drawings are documents, which load. @param {HTMLObjectElement | HTMLEmbedElement} element @param {string} name */
  const bitmapAddress = (element, name) => {
    const address = element.getAttribute(name) ?? ''
    const isBitmap = element.type
      ? /^image\/(?!svg)/i.test(element.type)
      : /\.(?:png|jpe?g|gif|webp|avif|bmp|ico)(?:[?#]|$)/i.test(address)
    return isBitmap ? address : ''
  }
  /** Data images load by themselves, blob images are decoded. @param {Element} element */
  const remoteAddress = (element) => {
    const address = addressOf(element)
    return address === '' || /^\s*(?:data|blob):/i.test(address) ? null : address
  }
  /** @param {HTMLImageElement} img */
  const isInPicture = (img) =>
    img.parentElement instanceof HTMLPictureElement &&
    img.parentElement.querySelector('source[srcset]') !== null

  /** Each stands under its address until the page revokes it. @type {Record<string, Blob>} */
  const blobs = Object.create(null)
  intercept(URL, 'createObjectURL', (native, self, given) => {
    const address = apply(native, self, given)
    if (given[0] instanceof Blob) blobs[address] = given[0]
    return address
  })
  intercept(URL, 'revokeObjectURL', (native, self, given) => {
    delete blobs[given[0]]
    return apply(native, self, given)
  })
  /** The first address of a blob; empty if there is none. @param {HTMLImageElement} img */
  const blobAddress = (img) => {
    const srcset = img.getAttribute('srcset') ?? ''
    return /(?:^|[\s,])(blob:[^\s,]+)/i.exec(srcset)?.[1] ?? img.getAttribute('src') ?? ''
  }
  /** @typedef {{ address: string, data: string, width: number, height: number, isLoaded: boolean }} Decoded */
  /** @type {WeakMap<HTMLImageElement, Decoded>} */
  const decoded = new WeakMap()
  /** @param {HTMLImageElement} img @returns {Decoded | null} null: it shows no blob. */
  const decodedOf = (img) => {
    const found = decoded.get(img)
    return found !== undefined && found.address === blobAddress(img) ? found : null
  }
  /** Data images load, so a copy with that address tells the size. @param {HTMLImageElement} img @param {Blob} blob */
  const decodeBlob = (img, blob) => {
    const address = blobAddress(img)
    if (decodedOf(img) !== null) return
    /** @type {Decoded} */
    const found = { address, data: '', width: 0, height: 0, isLoaded: false }
    decoded.set(img, found)
    const end = begin()
    /** @param {string} type */
    const tell = (type) => {
      end()
      if (decodedOf(img) === found) nativeDispatch.call(img, new Event(type))
    }
    const copy = new Image()
    nativeListen.call(copy, 'load', () => {
      found.width = natural.width?.call(copy)
      found.height = natural.height?.call(copy)
      found.isLoaded = true
      tell('load')
    })
    nativeListen.call(copy, 'error', () => tell('error'))
    const reader = new FileReader()
    nativeListen.call(reader, 'load', () => {
      found.data = `${reader.result}`
      setSource?.call(copy, found.data)
    })
    nativeListen.call(reader, 'error', () => tell('error'))
    reader.readAsDataURL(blob)
  }
  const natural = {
    width: Object.getOwnPropertyDescriptor(image, 'naturalWidth')?.get,
    height: Object.getOwnPropertyDescriptor(image, 'naturalHeight')?.get,
  }
  const setSource = Object.getOwnPropertyDescriptor(image, 'src')?.set

  const DATA_LIMIT_CHARS = 100_000
  const ALL_DATA_LIMIT_CHARS = 1_000_000
  // No other client has the page's blobs.
  beforeCapture[beforeCapture.length] = () => {
    let chars = 0
    const images = querySelectorAll.call(document, 'img[src^="blob:" i], img[srcset*="blob:" i]')
    for (let at = 0; at < images.length; at++) {
      const img = /** @type {HTMLImageElement} */ (images[at])
      const data = decodedOf(img)?.data ?? ''
      chars += data.length
      img.removeAttribute('srcset')
      if (data === '' || data.length > DATA_LIMIT_CHARS || chars > ALL_DATA_LIMIT_CHARS)
        img.removeAttribute('src')
      else img.setAttribute('src', data)
    }
  }

  /** One timer reports them all; large pages have thousands. @type {Element[]} */
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

  /** @param {Element} img */
  const see = (img) => {
    const address = remoteAddress(img)
    if (address === null) {
      const blob = img instanceof HTMLImageElement && blobs[blobAddress(img)]
      if (blob) decodeBlob(img, blob)
      return
    }
    if (reported.get(img) === address) return
    const wasWaiting = reported.get(img) === null
    reported.set(img, null)
    if (wasWaiting) return
    if (due.length === 0) setTimeout(reportAll, 1)
    due[due.length] = img
  }

  const PICTURES = ['img', 'input', 'link', 'image', 'object', 'embed']
  /** @param {Element} element */
  const seeOwn = (element) => {
    see(element)
    const root = shadowRoot?.call(element)
    if (root) watch(root)
  }
  /** @param {Element} element */
  const seeAll = (element) => {
    if (element.firstElementChild !== null)
      for (let at = 0; at < PICTURES.length; at++)
        for (const picture of element.getElementsByTagName(PICTURES[at] ?? '')) see(picture)
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
  intercept(image, 'complete', (native, img) => {
    const blob = decodedOf(img)
    if (blob !== null) return blob.isLoaded
    return isReported(img) || (reported.get(img) !== null && apply(native, img, []))
  })
  intercept(image, 'naturalWidth', (native, img) => decodedOf(img)?.width ?? apply(native, img, []))
  intercept(image, 'naturalHeight', (native, img) => decodedOf(img)?.height ?? apply(native, img, []))
  showLoaded('naturalWidth', (img) => Number(img.getAttribute('width')) || 1)
  showLoaded('naturalHeight', (img) => Number(img.getAttribute('height')) || 1)
  showLoaded('currentSrc', (img) => img.src)
  intercept(image, 'decode', (native, img) => {
    const blob = decodedOf(img)
    if (blob?.isLoaded) return Promise.resolve()
    if (blob === null && remoteAddress(img) === null) return apply(native, img, [])
    see(img)
    return new Promise((resolve) => {
      if (isReported(img)) queueMicrotask(() => resolve(undefined))
      else nativeListen.call(img, 'load', () => resolve(undefined), { once: true })
    })
  })
}
