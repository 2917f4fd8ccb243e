// ResizeObserver reports with frames, which virtual time hardly draws. A timer measures instead.
{
  const { setTimeout, ResizeObserverEntry, reportError } = window
  const Native = window.ResizeObserver
  /** One frame: new elements are measured at its end. */
  const FIRST_CHECK_MS = 16

  /** @type {Set<ResizeObserver>} */
  const observing = new Set()
  /** @type {WeakMap<ResizeObserver, () => void>} */
  const checks = new WeakMap()
  let isCheckDue = false
  const checkAll = () => {
    isCheckDue = false
    for (const observer of [...observing]) checks.get(observer)?.()
  }
  const checkOften = checkForAWhile(checkAll)
  const check = () => {
    if (!isCheckDue) setTimeout(checkAll, FIRST_CHECK_MS)
    isCheckDue = true
    checkOften()
  }

  /** Only Chromium can make entries; these look the same. @param {Element} target */
  const entryOf = (target) => {
    const style = getComputedStyle(target)
    /** @param {...string} names */
    const sum = (...names) =>
      names.reduce((total, name) => total + (Number.parseFloat(style.getPropertyValue(name)) || 0), 0)
    const isBox = target instanceof HTMLElement
    const { width, height } = target.getBoundingClientRect()
    const outerWidth = isBox ? target.offsetWidth : width
    const outerHeight = isBox ? target.offsetHeight : height
    // offsetWidth is rounded, so ignore fractions of a pixel.
    const border = {
      inlineSize: Math.abs(width - outerWidth) < 1 ? width : outerWidth,
      blockSize: Math.abs(height - outerHeight) < 1 ? height : outerHeight,
    }
    const content = {
      inlineSize: Math.max(
        0,
        border.inlineSize - sum('padding-left', 'padding-right', 'border-left-width', 'border-right-width'),
      ),
      blockSize: Math.max(
        0,
        border.blockSize - sum('padding-top', 'padding-bottom', 'border-top-width', 'border-bottom-width'),
      ),
    }
    const contentRect = new DOMRectReadOnly(
      sum('padding-left'),
      sum('padding-top'),
      content.inlineSize,
      content.blockSize,
    )
    const entry = Object.create(ResizeObserverEntry.prototype)
    return Object.defineProperties(entry, {
      target: { value: target },
      contentRect: { value: contentRect },
      borderBoxSize: { value: [border] },
      contentBoxSize: { value: [content] },
      devicePixelContentBoxSize: { value: [content] },
    })
  }

  class ResizeObserver {
    /** Size at the last report; '' before the first. @type {Map<Element, string>} */ #sizes = new Map()

    /** @param {ResizeObserverCallback} callback */
    constructor(callback) {
      new Native(callback)
      checks.set(this, () => {
        const entries = []
        for (const [target, size] of this.#sizes) {
          const entry = entryOf(target)
          const { inlineSize, blockSize } = entry.contentBoxSize[0]
          const measured = `${inlineSize} ${blockSize}`
          if (measured === size) continue
          this.#sizes.set(target, measured)
          entries.push(entry)
        }
        if (entries.length === 0) return
        try {
          callback.call(this, entries, this)
        } catch (error) {
          reportError(error)
        }
      })
    }
    /** @param {Element} target @param {ResizeObserverOptions} [options] */
    observe(target, options) {
      new Native(() => {}).observe(target, options)
      this.#sizes.set(target, '')
      observing.add(this)
      check()
    }
    /** @param {Element} target */
    unobserve(target) {
      this.#sizes.delete(target)
      if (this.#sizes.size === 0) observing.delete(this)
    }
    disconnect() {
      this.#sizes.clear()
      observing.delete(this)
    }
  }
  // As in the platform: Zone.js finds what it wraps by enumerating.
  for (const name of ['observe', 'unobserve', 'disconnect'])
    Object.defineProperty(ResizeObserver.prototype, name, { enumerable: true })
  Object.defineProperty(ResizeObserver.prototype, Symbol.toStringTag, {
    value: 'ResizeObserver',
    configurable: true,
  })
  Object.defineProperty(window, 'ResizeObserver', {
    value: ResizeObserver,
    writable: true,
    configurable: true,
    enumerable: false,
  })
}
