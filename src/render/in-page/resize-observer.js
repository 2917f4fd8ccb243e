// Runs first in every document. ResizeObserver reports with frames, of which
// hardly any is drawn under virtual time: a change between two of them would be
// missed, and a first report come after everything. So it is asked by a timer.
;(() => {
  const { setTimeout, setInterval, clearInterval, performance, ResizeObserverEntry, reportError } = window
  const now = performance.now.bind(performance)
  const Native = window.ResizeObserver

  /** A frame: whatever is new is measured at the end of the one it came in. */
  const FIRST_LOOK_MS = 16
  const LOOK_EVERY_MS = 100
  /** A page whose boxes still change after that has had its say. */
  const LOOK_FOR_MS = 6_000

  /** @type {Set<ResizeObserver>} */
  const observing = new Set()
  let timer = 0
  let untilMs = 0
  let isLookDue = false
  const look = () => {
    isLookDue = false
    for (const observer of [...observing]) looks.get(observer)?.()
  }
  const lookOut = () => {
    untilMs = now() + LOOK_FOR_MS
    if (!isLookDue) setTimeout(look, FIRST_LOOK_MS)
    isLookDue = true
    if (timer !== 0) return
    timer = setInterval(() => {
      look()
      if (now() < untilMs && observing.size > 0) return
      clearInterval(timer)
      timer = 0
    }, LOOK_EVERY_MS)
  }
  /** @type {WeakMap<ResizeObserver, () => void>} */
  const looks = new WeakMap()

  /** Chromium makes entries only itself; ours read the same. @param {Element} target */
  const entryOf = (target) => {
    const style = getComputedStyle(target)
    /** @param {...string} names */
    const sum = (...names) =>
      names.reduce((total, name) => total + (Number.parseFloat(style.getPropertyValue(name)) || 0), 0)
    const isBox = target instanceof HTMLElement
    const { width, height } = target.getBoundingClientRect()
    const outerWidth = isBox ? target.offsetWidth : width
    const outerHeight = isBox ? target.offsetHeight : height
    // What lies within a fraction of a pixel is the fraction that offsetWidth leaves out.
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
    /** Size of each at its last report; '' before the first. @type {Map<Element, string>} */ #sizes =
      new Map()

    /** @param {ResizeObserverCallback} callback */
    constructor(callback) {
      // Throws what a wrong argument has to throw.
      new Native(callback)
      looks.set(this, () => {
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
      lookOut()
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
  // As interfaces of the platform have it: Zone.js finds what it wraps by enumerating.
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
})()
