// Runs first in every document and worker of a page whose process has a clock that is
// ahead: it has been given virtual time for the renders before, and cannot be
// set back. What tells the date tells it without that; what measures spans
// (performance.now, timers, frames) is right as it is, for both ends of a span
// are ahead alike.
/** @param {number} aheadMs */
// biome-ignore lint/correctness/noUnusedVariables: what src/render/tab/page-date.ts makes of it calls it
function tellTrueDate(aheadMs) {
  const { apply, construct } = Reflect
  const { Performance, PerformanceTiming } = globalThis
  const NativeDate = Date
  const nativeNow = Date.now
  const { toString: textOf } = Date.prototype
  const now = () => nativeNow() - aheadMs

  /** @param {object} target @param {string} name @param {unknown} value */
  const replace = (target, name, value) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false })
  /**
   * The function reads and behaves as before, but for what `then` makes of its result.
   * @template {(...given: *[]) => *} Native
   * @param {Native} native @param {(result: *, self: *, given: *[]) => unknown} then
   */
  const after = (native, then) =>
    new Proxy(native, { apply: (target, self, given) => then(apply(target, self, given), self, given) })
  /** @param {object | undefined} owner @param {string} name @param {(result: *, self: *) => unknown} then */
  const correctGetter = (owner, name, then) => {
    const native = owner && Object.getOwnPropertyDescriptor(owner, name)
    if (!native?.get) return
    Object.defineProperty(owner, name, { ...native, get: after(native.get, then) })
  }

  replace(
    Date,
    'now',
    after(Date.now, (ms) => ms - aheadMs),
  )
  const ShownDate = new Proxy(NativeDate, {
    construct: (target, given, newTarget) =>
      construct(target, given.length === 0 ? [now()] : given, newTarget),
    apply: () => textOf.call(new NativeDate(now())),
  })
  replace(Date.prototype, 'constructor', ShownDate)
  replace(globalThis, 'Date', ShownDate)

  // Moments of the load, by the clock of the wall; 0: has not been.
  /** @param {number} ms */
  const corrected = (ms) => (ms > 0 ? ms - aheadMs : ms)
  correctGetter(Performance.prototype, 'timeOrigin', corrected)
  const { timing = {} } = performance
  for (const name in timing) correctGetter(PerformanceTiming?.prototype, name, corrected)
  const { toJSON } = Performance.prototype
  const inJson = after(toJSON, (json, self) => ({
    ...json,
    timeOrigin: self.timeOrigin,
    timing: Object.fromEntries(Object.keys(json.timing ?? {}).map((name) => [name, self.timing[name]])),
  }))
  replace(Performance.prototype, 'toJSON', inJson)

  // Without an argument these format the moment they are called in.
  const { DateTimeFormat } = Intl
  /** @type {WeakMap<object, unknown>} */
  const formats = new WeakMap()
  correctGetter(DateTimeFormat.prototype, 'format', (format) => {
    const known = formats.get(format)
    if (known !== undefined) return known
    const shown = new Proxy(format, {
      apply: (target, self, [date]) => apply(target, self, [date === undefined ? now() : date]),
    })
    formats.set(format, shown)
    return shown
  })
  const { formatToParts } = DateTimeFormat.prototype
  replace(
    DateTimeFormat.prototype,
    'formatToParts',
    new Proxy(formatToParts, {
      apply: (target, self, [date]) => apply(target, self, [date === undefined ? now() : date]),
    }),
  )

  const temporal = Reflect.get(globalThis, 'Temporal')?.Now
  if (temporal === undefined) return
  const { instant, timeZoneId } = temporal
  /** @param {string} [zone] */
  const zoned = (zone = timeZoneId()) =>
    instant().subtract({ milliseconds: aheadMs }).toZonedDateTimeISO(zone)
  replace(
    temporal,
    'instant',
    after(instant, (at) => at.subtract({ milliseconds: aheadMs })),
  )
  for (const [name, of] of Object.entries({
    zonedDateTimeISO: (/** @type {*} */ at) => at,
    plainDateTimeISO: (/** @type {*} */ at) => at.toPlainDateTime(),
    plainDateISO: (/** @type {*} */ at) => at.toPlainDate(),
    plainTimeISO: (/** @type {*} */ at) => at.toPlainTime(),
  })) {
    replace(
      temporal,
      name,
      after(temporal[name], (_at, _self, [zone]) => of(zoned(zone))),
    )
  }
}
