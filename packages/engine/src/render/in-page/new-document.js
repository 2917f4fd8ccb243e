// Runs last. Replaces what the headless shell does not do under virtual time; removes what renders must not have.
{
  const { setTimeout, clearTimeout, reportError } = window
  const { add, delete: remove } = Set.prototype
  Reflect.deleteProperty(window, 'prepaintTell')
  const LEADING_METAS = /^(?:prerender-(?:status-code|header)|render:(?:status_code|header))$/i

  /** @param {object} target @param {string} name @param {unknown} value */
  const replace = (target, name, value) => {
    if (typeof value === 'function' && value.name === '')
      Object.defineProperty(value, 'name', { value: name })
    const shown = typeof value === 'function' ? asNative(value) : value
    Object.defineProperty(target, name, {
      value: shown,
      writable: true,
      configurable: true,
      enumerable: true,
    })
  }

  if (window === window.top) {
    // An earlier render in this tab may have set it.
    window.name = ''

    // The clock runs on until Node hears of the flag. What the page does at once, and in its next frame, still counts.
    const LAST_MOMENT_MS = 50
    const TIMERS_LIMIT = 1_000_000
    /** @type {Set<string>} */
    const onHold = new Set()
    const endTimers = () => {
      const last = setTimeout(() => {}, 0)
      for (let id = last; id > 0 && id > last - TIMERS_LIMIT; id--) clearTimeout(id)
    }
    for (const flag of ['prerenderReady', 'renderComplete', 'renderReady']) {
      /** @type {unknown} */
      let value
      Object.defineProperty(window, flag, {
        configurable: true,
        enumerable: true,
        get: () => value,
        set: (/** @type {unknown} */ given) => {
          value = given
          if (given === false) {
            add.call(onHold, flag)
            report(`hold ${flag}`)
          }
          if (given === true) {
            remove.call(onHold, flag)
            report(`ready ${flag}`)
            if (onHold.size === 0 && whenReady.endsTimers) setTimeout(endTimers, LAST_MOMENT_MS)
          }
        },
      })
    }
  }

  if (window === window.top) {
    const { querySelectorAll } = Document.prototype
    const { getAttribute } = Element.prototype
    const { stringify } = JSON
    // What says where the page leaves for cannot be read once it has left.
    const tellMetas = () => {
      /** @type {[name: string, content: string][]} */
      const metas = []
      for (const meta of querySelectorAll.call(document, 'meta[name], meta[property]')) {
        const name = getAttribute.call(meta, 'name') ?? getAttribute.call(meta, 'property') ?? ''
        const content = getAttribute.call(meta, 'content') ?? ''
        if (LEADING_METAS.test(name) && metas.length < 50) metas.push([name, content.slice(0, 2_500)])
      }
      report(`left ${stringify(metas)}`)
    }
    nativeListen.call(window, 'pagehide', tellMetas, { capture: true })
  }

  // Stops unload events: a handler could write after the wipe, and the next render would find it.
  for (const event of ['beforeunload', 'pageswap', 'pagehide', 'unload', 'visibilitychange', 'freeze']) {
    window.addEventListener(event, (event) => event.stopImmediatePropagation(), { capture: true })
  }

  // Virtual time draws no frames: use timers of 16 ms, and fewer after two seconds of animation.
  const FRAME_MS = 16
  const LATER_FRAME_MS = 100
  const LATER_AFTER_MS = 2_000
  const start = now()
  /** @type {Map<number, FrameRequestCallback>} */
  let waiting = new Map()
  /** @type {Map<number, FrameRequestCallback>} */
  let running = new Map()
  let lastFrameId = 0
  const drawFrame = () => {
    running = waiting
    waiting = new Map()
    const time = now()
    for (const callback of running.values()) {
      try {
        callback(time)
      } catch (error) {
        reportError(error)
      }
    }
  }
  replace(window, 'requestAnimationFrame', (/** @type {FrameRequestCallback} */ callback) => {
    if (typeof callback !== 'function') throw new TypeError('The callback is not a function')
    if (waiting.size === 0) setTimeout(drawFrame, now() - start < LATER_AFTER_MS ? FRAME_MS : LATER_FRAME_MS)
    waiting.set(++lastFrameId, callback)
    return lastFrameId
  })
  replace(window, 'cancelAnimationFrame', (/** @type {number} */ id) => {
    waiting.delete(id)
    running.delete(id)
  })

  replace(window, 'requestIdleCallback', (/** @type {IdleRequestCallback} */ callback) =>
    setTimeout(() => callback({ didTimeout: false, timeRemaining: () => 50 }), 1),
  )
  replace(window, 'cancelIdleCallback', (/** @type {number} */ id) => clearTimeout(id))

  // Report every observed element as visible, so lazy content loads. Limit the answers to infinite lists.
  const ANSWERS_PER_ELEMENT = 3
  /** @type {WeakMap<Element, number>} */
  const answers = new WeakMap()
  class IntersectionObserver {
    /** @type {IntersectionObserverCallback} */ #callback
    /** @type {Set<Element>} */ #targets = new Set()
    /** @type {Set<Element>} */ #due = new Set()
    /** @type {Element | Document | null} */ root
    /** @type {string} */ rootMargin
    /** @type {readonly number[]} */ thresholds
    scrollMargin = '0px 0px 0px 0px'
    delay = 0
    trackVisibility = false

    /** @param {IntersectionObserverCallback} callback @param {IntersectionObserverInit} [options] */
    constructor(callback, options = {}) {
      if (typeof callback !== 'function') throw new TypeError('The callback is not a function')
      this.#callback = callback
      this.root = options.root ?? null
      this.rootMargin = options.rootMargin ?? '0px 0px 0px 0px'
      this.thresholds = options.threshold === undefined ? [0] : [options.threshold].flat()
    }
    /** @param {Element} target */
    observe(target) {
      if (!(target instanceof Element)) throw new TypeError('The target is not an Element')
      if (this.#targets.has(target)) return
      this.#targets.add(target)
      const answered = answers.get(target) ?? 0
      if (answered >= ANSWERS_PER_ELEMENT) return
      answers.set(target, answered + 1)
      this.#due.add(target)
      if (this.#due.size === 1) setTimeout(() => this.#answer(), 16)
    }
    /** @param {Element} target */
    unobserve(target) {
      this.#targets.delete(target)
      this.#due.delete(target)
    }
    disconnect() {
      this.#targets.clear()
      this.#due.clear()
    }
    takeRecords() {
      const entries = [...this.#due].map(entryOf)
      this.#due.clear()
      return entries
    }
    #answer() {
      if (this.#due.size === 0) return
      this.#callback.call(this, this.takeRecords(), this)
    }
  }
  /** Measures rectangles lazily, because that forces layout. @param {Element} target */
  const entryOf = (target) => ({
    target,
    isIntersecting: true,
    isVisible: true,
    intersectionRatio: 1,
    time: now(),
    rootBounds: null,
    get boundingClientRect() {
      return target.getBoundingClientRect()
    },
    get intersectionRect() {
      return target.getBoundingClientRect()
    },
  })
  // As in the platform: Zone.js (Angular) finds what it wraps by enumerating.
  for (const name of ['observe', 'unobserve', 'disconnect', 'takeRecords'])
    Object.defineProperty(IntersectionObserver.prototype, name, { enumerable: true })
  Object.defineProperty(IntersectionObserver.prototype, Symbol.toStringTag, {
    value: 'IntersectionObserver',
    configurable: true,
  })
  replace(window, 'IntersectionObserver', IntersectionObserver)
  Object.defineProperty(IntersectionObserver.prototype, 'constructor', { value: window.IntersectionObserver })

  // Opens closed shadow roots for the snapshot. To the page they stay closed.
  /** @type {WeakSet<ShadowRoot>} */
  const closedRoots = new WeakSet()
  intercept(Element.prototype, 'attachShadow', (native, self, [init, ...rest]) => {
    if (init?.mode !== 'closed') return apply(native, self, [init, ...rest])
    const root = apply(native, self, [{ ...init, mode: 'open' }])
    closedRoots.add(root)
    return root
  })
  intercept(Element.prototype, 'shadowRoot', (native, self) => {
    const root = apply(native, self, [])
    return root && closedRoots.has(root) ? null : root
  })
  intercept(ShadowRoot.prototype, 'mode', (native, self) =>
    closedRoots.has(self) ? 'closed' : apply(native, self, []),
  )

  // Nothing is drawn in WebGL: one process would do it for all pages, without a graphics card, and snapshots hold no pixels.
  const DRAW = [
    'drawArrays',
    'drawElements',
    'drawRangeElements',
    'drawArraysInstanced',
    'drawElementsInstanced',
  ]
  for (const gl of [window.WebGLRenderingContext, window.WebGL2RenderingContext])
    for (const name of DRAW) intercept(gl?.prototype, name, () => undefined)

  // Chromium 153 does not wipe the names of storage buckets.
  Reflect.deleteProperty(Navigator.prototype, 'storageBuckets')
}
