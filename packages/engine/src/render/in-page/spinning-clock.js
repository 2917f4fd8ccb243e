// Virtual time stands while a task runs, so a busy wait would never end. After many reads, each read moves the clock.
;(() => {
  const READS = 10_000
  const STEP_MS = 0.1
  const { apply, construct } = Reflect
  const { floor } = Math
  const { performance, Performance, Date: NativeDate } = globalThis
  const { now: nativeNow } = Performance.prototype
  const { now: nativeDateNow } = NativeDate
  const { toString: textOf } = NativeDate.prototype

  let last = 0
  let reads = 0
  let shown = 0
  /** @param {number} now */
  const tell = (now) => {
    if (now !== last) {
      last = now
      reads = 0
    } else if (++reads > READS) shown = (shown > now ? shown : now) + STEP_MS
    return shown > now ? shown : now
  }

  /** @param {object} target @param {string} name @param {unknown} value @param {boolean} enumerable */
  const replace = (target, name, value, enumerable) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable })
  replace(
    Performance.prototype,
    'now',
    new Proxy(nativeNow, { apply: (target, self, given) => tell(apply(target, self, given)) }),
    true,
  )
  const dateNow = () => {
    const now = apply(nativeNow, performance, [])
    return nativeDateNow() + floor(tell(now) - now)
  }
  replace(NativeDate, 'now', new Proxy(nativeDateNow, { apply: dateNow }), false)
  const ShownDate = new Proxy(NativeDate, {
    construct: (target, given, newTarget) =>
      construct(target, given.length === 0 ? [dateNow()] : given, newTarget),
    apply: () => textOf.call(new NativeDate(dateNow())),
  })
  replace(NativeDate.prototype, 'constructor', ShownDate, false)
  replace(globalThis, 'Date', ShownDate, false)
})()
