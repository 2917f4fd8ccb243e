// Corrects all dates when earlier renders moved the clock ahead. Durations are already right.

/** @param {object} target @param {string} name @param {unknown} value */
const setHidden = (target, name, value) =>
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false })

/**
 * @template {(...given: *[]) => *} Native
 * @param {Native} native @param {(result: *, self: *, given: *[]) => unknown} then
 */
function withResult(native, then) {
  const { apply } = Reflect
  return new Proxy(native, { apply: (target, self, given) => then(apply(target, self, given), self, given) })
}

/** @param {object | undefined} owner @param {string} name @param {(result: *, self: *) => unknown} then */
function correctGetter(owner, name, then) {
  const native = owner && Object.getOwnPropertyDescriptor(owner, name)
  if (native?.get) Object.defineProperty(owner, name, { ...native, get: withResult(native.get, then) })
}

/** @param {number} aheadMs */
// biome-ignore lint/correctness/noUnusedVariables: packages/engine/src/render/time/virtual-clock.ts calls it
function tellTrueDate(aheadMs) {
  const { construct } = Reflect
  const NativeDate = Date
  const nativeNow = Date.now
  const { toString: textOf } = Date.prototype
  const trueNow = () => nativeNow() - aheadMs

  const correctNow = withResult(Date.now, (ms) => ms - aheadMs)
  setHidden(Date, 'now', correctNow)
  const TrueDate = new Proxy(NativeDate, {
    construct: (target, given, newTarget) =>
      construct(target, given.length === 0 ? [trueNow()] : given, newTarget),
    apply: () => textOf.call(new NativeDate(trueNow())),
  })
  setHidden(Date.prototype, 'constructor', TrueDate)
  setHidden(globalThis, 'Date', TrueDate)
  correctLoadTimes(aheadMs)
  correctFormats(trueNow)
  correctTemporal(aheadMs)
}

/** Load times as dates; 0: not reached. @param {number} aheadMs */
function correctLoadTimes(aheadMs) {
  const { Performance, PerformanceTiming } = globalThis
  /** @param {number} ms */
  const corrected = (ms) => (ms > 0 ? ms - aheadMs : ms)
  correctGetter(Performance.prototype, 'timeOrigin', corrected)
  const { timing = {} } = performance
  for (const name in timing) correctGetter(PerformanceTiming?.prototype, name, corrected)
  const { toJSON } = Performance.prototype
  const inJson = withResult(toJSON, (json, self) => ({
    ...json,
    timeOrigin: self.timeOrigin,
    timing: Object.fromEntries(Object.keys(json.timing ?? {}).map((name) => [name, self.timing[name]])),
  }))
  setHidden(Performance.prototype, 'toJSON', inJson)
}

/** Without an argument these format the current time. @param {() => number} trueNow */
function correctFormats(trueNow) {
  const { apply } = Reflect
  const { DateTimeFormat } = Intl
  /** @template {Function} Native @param {Native} format */
  const corrected = (format) =>
    new Proxy(format, {
      apply: (target, self, [date]) => apply(target, self, [date === undefined ? trueNow() : date]),
    })
  /** @type {WeakMap<Function, Function>} */
  const formats = new WeakMap()
  correctGetter(DateTimeFormat.prototype, 'format', (format) => {
    const known = formats.get(format) ?? corrected(format)
    formats.set(format, known)
    return known
  })
  setHidden(DateTimeFormat.prototype, 'formatToParts', corrected(DateTimeFormat.prototype.formatToParts))
}

/** @param {number} aheadMs */
function correctTemporal(aheadMs) {
  const temporal = Reflect.get(globalThis, 'Temporal')?.Now
  if (temporal === undefined) return
  const { instant, timeZoneId } = temporal
  const trueInstant = withResult(instant, (at) => at.subtract({ milliseconds: aheadMs }))
  setHidden(temporal, 'instant', trueInstant)
  for (const [name, of] of Object.entries({
    zonedDateTimeISO: (/** @type {*} */ at) => at,
    plainDateTimeISO: (/** @type {*} */ at) => at.toPlainDateTime(),
    plainDateISO: (/** @type {*} */ at) => at.toPlainDate(),
    plainTimeISO: (/** @type {*} */ at) => at.toPlainTime(),
  })) {
    const corrected = withResult(temporal[name], (_at, _self, [zone = timeZoneId()]) =>
      of(trueInstant().toZonedDateTimeISO(zone)),
    )
    setHidden(temporal, name, corrected)
  }
}
