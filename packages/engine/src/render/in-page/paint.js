// Nothing is painted. Pages that load more after the first or the largest paint hear of one when the document is there.
if (window.PerformanceObserver && window.PerformancePaintTiming) {
  const { PerformanceObserver, PerformancePaintTiming, PerformanceObserverEntryList, setTimeout } = window
  const { LargestContentfulPaint } = window
  const { observe: nativeObserve, disconnect: nativeDisconnect } = PerformanceObserver.prototype
  const FRAME_MS = 16
  const PAINT = 'paint'
  const LARGEST = 'largest-contentful-paint'

  /** @type {PerformanceEntry[]} */
  let painted = []
  const withoutTarget = () => /** @type {never} */ ({})
  /** @param {PerformanceEntry | undefined} prototype @param {Record<string, unknown>} properties */
  const entryOf = (prototype, properties) => {
    const values = { duration: 0, ...properties }
    return objectOf(
      prototype ?? PerformanceEntry.prototype,
      { ...values, toJSON: () => values },
      withoutTarget(),
    )
  }
  const paint = () => {
    const startTime = now()
    const largest = { id: '', url: '', element: null, size: 1, loadTime: 0, renderTime: startTime }
    painted = [
      entryOf(PerformancePaintTiming.prototype, { name: 'first-paint', entryType: PAINT, startTime }),
      entryOf(PerformancePaintTiming.prototype, {
        name: 'first-contentful-paint',
        entryType: PAINT,
        startTime,
      }),
      entryOf(LargestContentfulPaint?.prototype, { name: '', entryType: LARGEST, startTime, ...largest }),
    ]
    const observers = [...waiting]
    waiting.clear()
    for (const [observer, types] of observers) tell(observer, types)
  }

  /** @type {WeakMap<PerformanceObserver, PerformanceObserverCallback>} */
  const callbacks = new WeakMap()
  /** Observers of paints that are still to come. @type {Map<PerformanceObserver, string[]>} */
  const waiting = new Map()
  /** @param {PerformanceObserver} observer @param {string[]} types */
  const tell = (observer, types) => {
    const entries = painted.filter(({ entryType }) => types.includes(entryType))
    const list = objectOf(
      PerformanceObserverEntryList.prototype,
      {
        getEntries: () => entries,
        getEntriesByType: (/** @type {string} */ type) => entries.filter((e) => e.entryType === type),
        getEntriesByName: (/** @type {string} */ name) => entries.filter((e) => e.name === name),
      },
      withoutTarget(),
    )
    if (entries.length > 0) callbacks.get(observer)?.call(observer, list, observer)
  }

  /** @type {typeof PerformanceObserver} */
  const Observer = new Proxy(PerformanceObserver, {
    construct(target, given, newTarget) {
      const observer = Reflect.construct(target, given, newTarget === Observer ? target : newTarget)
      callbacks.set(observer, given[0])
      return observer
    },
  })
  Object.defineProperty(window, 'PerformanceObserver', {
    value: Observer,
    writable: true,
    configurable: true,
  })
  Object.defineProperty(PerformanceObserver.prototype, 'constructor', { value: Observer })
  intercept(PerformanceObserver.prototype, 'observe', (_native, observer, given) => {
    const { type, entryTypes, buffered } = given[0] ?? {}
    const asked = type === undefined ? [...(entryTypes ?? [])] : [`${type}`]
    const paints = asked.filter((name) => name === PAINT || name === LARGEST)
    const others = asked.filter((name) => !paints.includes(name))
    if (paints.length === 0) return apply(nativeObserve, observer, given)
    if (painted.length === 0) waiting.set(observer, [...(waiting.get(observer) ?? []), ...paints])
    else if (buffered) setTimeout(() => tell(observer, paints), 0)
    return others.length === 0 ? undefined : apply(nativeObserve, observer, [{ entryTypes: others }])
  })
  intercept(PerformanceObserver.prototype, 'disconnect', (_native, observer, given) => {
    waiting.delete(observer)
    return apply(nativeDisconnect, observer, given)
  })
  /** @param {string} name @param {(entry: PerformanceEntry, given: *[]) => boolean} isAsked */
  const addPaints = (name, isAsked) =>
    intercept(Performance.prototype, name, (native, self, given) => {
      /** @type {PerformanceEntry[]} */
      const found = apply(native, self, given)
      // Chromium with a window may paint after all.
      const isThere = found.some(({ entryType }) => entryType === PAINT)
      return isThere ? found : [...found, ...painted.filter((entry) => isAsked(entry, given))]
    })
  // The largest paint is in no list: it is only told to observers.
  const isPaint = (/** @type {PerformanceEntry} */ entry) => entry.entryType === PAINT
  addPaints('getEntries', isPaint)
  addPaints('getEntriesByType', (entry, [type]) => isPaint(entry) && type === PAINT)
  addPaints('getEntriesByName', (entry, [name]) => isPaint(entry) && entry.name === name)

  nativeListen.call(document, 'DOMContentLoaded', () => setTimeout(paint, FRAME_MS), { once: true })
}
