// Shows a page only its own part of the tab's history. The browser's process navigates in real time.
if (Reflect.get(window, 'navigation')) {
  const navigation = Reflect.get(window, 'navigation')
  const { DOMException } = window
  const { begin } = realTimeWork()
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
  /** A frame has its own list, from its first document on. */
  const first = isTop ? Math.max(position(), 0) : 0
  /** @param {number} index */
  const isOwn = (index) => index >= first && entries()[index] !== undefined

  if (isTop) {
    intercept(Navigation, 'entries', (native, self, given) => apply(native, self, given).slice(first))
    intercept(
      Navigation,
      'canGoBack',
      (native, self, given) => apply(native, self, given) && position() > first,
    )
    intercept(Entry, 'index', (native, self, given) => {
      const index = apply(native, self, given)
      return index < 0 ? index : index - first
    })
    intercept(Activation, 'from', () => null)
    // Includes pages of other origins, such as an empty first page.
    const before = history.length - 1
    intercept(History.prototype, 'length', (native, self, given) => apply(native, self, given) - before)
  }

  const refuse = () => {
    const refused = Promise.reject(new DOMException('Cannot go there', 'InvalidStateError'))
    refused.catch(() => {})
    return { committed: refused, finished: refused }
  }
  /** @param {string} name @param {(given: *[]) => number} targetOf */
  const watchNavigation = (name, targetOf) =>
    intercept(Navigation, name, (native, self, given) => {
      if (!isOwn(targetOf(given))) return refuse()
      const way = apply(native, self, given)
      const arrived = begin()
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
    intercept(History.prototype, name, (native, self, given) => {
      const steps = stepsOf(given)
      if (steps !== 0) {
        if (!isOwn(position() + steps)) return
        nativeListen.call(window, 'popstate', begin(), { once: true })
      }
      return apply(native, self, given)
    })
  watchHistory('back', () => -1)
  watchHistory('forward', () => 1)
  watchHistory('go', ([steps]) => Math.trunc(Number(steps)) || 0)
}
