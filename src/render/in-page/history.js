// Runs first in every document. A tab serves one render after the other, and the
// page of the one before may still be a step back in its history: what a page
// sees of its history begins with itself, and it can go no further back. Where
// it can go, the browser's own process leads it, in real time and without
// holding the virtual clock: that is told to Node, as in real-time.js.
;(() => {
  const navigation = Reflect.get(window, 'navigation')
  if (!navigation) return
  const { then } = Promise.prototype
  const { addEventListener } = EventTarget.prototype
  const { apply } = Reflect
  const { DOMException } = window
  /** @type {(word: string) => void} */
  const tell = Reflect.get(window, 'prepaintTell') ?? (() => {})

  const Navigation = Object.getPrototypeOf(navigation)
  const Entry = Reflect.get(window, 'NavigationHistoryEntry').prototype
  const Activation = Reflect.get(window, 'NavigationActivation')?.prototype
  /** @param {object | undefined} owner @param {string} name */
  const nativeOf = (owner, name) => (owner && Object.getOwnPropertyDescriptor(owner, name)) ?? {}
  const { value: nativeEntries } = nativeOf(Navigation, 'entries')
  const { get: currentEntry } = nativeOf(Navigation, 'currentEntry')
  const { get: nativeIndex } = nativeOf(Entry, 'index')
  const { get: nativeKey } = nativeOf(Entry, 'key')
  const entries = () => apply(nativeEntries, navigation, [])
  /** @param {object} entry @returns {number} */
  const indexOf = (entry) => nativeIndex?.call(entry)
  const position = () => {
    const entry = currentEntry?.call(navigation)
    return entry ? indexOf(entry) : -1
  }

  const isTop = window === window.top
  /** Where this page begins. A frame has a list of its own, from its first document on. */
  const first = isTop ? Math.max(position(), 0) : 0
  /** @param {number} index */
  const isOwn = (index) => index >= first && entries()[index] !== undefined

  /** @param {object | undefined} owner @param {string} name @param {(native: Function, self: *, given: *[]) => unknown} as */
  const replace = (owner, name, as) => {
    const native = nativeOf(owner, name)
    const to = (/** @type {Function} */ of) =>
      new Proxy(of, { apply: (target, self, given) => as(target, self, given) })
    if (owner === undefined) return
    if (native.get) Object.defineProperty(owner, name, { ...native, get: /** @type {*} */ (to(native.get)) })
    else if (native.value) Object.defineProperty(owner, name, { ...native, value: to(native.value) })
  }
  if (isTop) {
    replace(Navigation, 'entries', (native, self, given) => apply(native, self, given).slice(first))
    replace(
      Navigation,
      'canGoBack',
      (native, self, given) => apply(native, self, given) && position() > first,
    )
    replace(Entry, 'index', (native, self, given) => {
      const index = apply(native, self, given)
      return index < 0 ? index : index - first
    })
    replace(Activation, 'from', () => null)
    // This counts pages of other origins, too: the empty one that some renders begin at.
    const before = history.length - 1
    replace(History.prototype, 'length', (native, self, given) => apply(native, self, given) - before)
  }

  let going = 0
  /** It goes somewhere. Gives what is to be called when it is there; once counts. */
  const leave = () => {
    if (++going === 1) tell('busy')
    let isOnItsWay = true
    return () => {
      if (isOnItsWay && --going === 0) tell('idle')
      isOnItsWay = false
    }
  }
  const refuse = () => {
    const refused = Promise.reject(new DOMException('Cannot go there', 'InvalidStateError'))
    refused.catch(() => {})
    return { committed: refused, finished: refused }
  }
  /** @param {string} name @param {(given: *[]) => number} targetOf */
  const watchNavigation = (name, targetOf) =>
    replace(Navigation, name, (native, self, given) => {
      if (!isOwn(targetOf(given))) return refuse()
      const way = apply(native, self, given)
      const arrived = leave()
      then.call(way.committed, arrived, arrived)
      return way
    })
  watchNavigation('back', () => position() - 1)
  watchNavigation('forward', () => position() + 1)
  watchNavigation('traverseTo', ([key]) =>
    entries().findIndex((/** @type {object} */ entry) => nativeKey?.call(entry) === key),
  )

  /** @param {string} name @param {(given: *[]) => number} stepsOf */
  const watchHistory = (name, stepsOf) =>
    replace(History.prototype, name, (native, self, given) => {
      const steps = stepsOf(given)
      if (steps !== 0) {
        if (!isOwn(position() + steps)) return
        addEventListener.call(window, 'popstate', leave(), { once: true })
      }
      return apply(native, self, given)
    })
  watchHistory('back', () => -1)
  watchHistory('forward', () => 1)
  watchHistory('go', ([steps]) => Math.trunc(Number(steps)) || 0)
})()
