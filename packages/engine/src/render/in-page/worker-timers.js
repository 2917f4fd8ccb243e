// Evaluates to a function that returns whether timers wait in the worker, and so need waking after a clock jump.
// Chromium later defines its timers on the prototype, where these hide them.
;(() => {
  const { apply, defineProperty, get, getPrototypeOf } = Reflect
  const { add, delete: remove } = Set.prototype
  /** @type {Set<number>} */
  const waiting = new Set()
  // As for pages, see new-document.js.
  Reflect.deleteProperty(Object.getPrototypeOf(navigator), 'storageBuckets')
  const platform = getPrototypeOf(globalThis) ?? {}
  /** @param {string} name @param {unknown[]} given @returns {number} */
  const native = (name, given) => apply(get(platform, name), globalThis, given)

  /** @param {string} name @param {Function} value */
  const replace = (name, value) => {
    defineProperty(value, 'name', { value: name })
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true })
  }
  replace('setTimeout', (/** @type {unknown} */ handler, /** @type {unknown[]} */ ...given) => {
    const run = (/** @type {unknown[]} */ ...args) => {
      apply(remove, waiting, [id])
      if (typeof handler === 'function') apply(handler, globalThis, args)
    }
    const id = native('setTimeout', [typeof handler === 'function' ? run : handler, ...given])
    if (typeof handler !== 'function') native('setTimeout', [run, ...given])
    apply(add, waiting, [id])
    return id
  })
  replace('setInterval', (/** @type {unknown[]} */ ...given) => {
    const id = native('setInterval', given)
    apply(add, waiting, [id])
    return id
  })
  for (const name of ['clearTimeout', 'clearInterval']) {
    replace(name, (/** @type {number} */ id) => {
      apply(remove, waiting, [Number(id)])
      native(name, [id])
    })
  }
  return () => waiting.size > 0
})()
