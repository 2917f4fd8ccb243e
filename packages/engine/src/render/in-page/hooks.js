// Shared by the other scripts, in one function with them. Saves the originals, because pages replace globals.
// biome-ignore-all lint/correctness/noUnusedVariables: the other scripts use them
const { apply } = Reflect
const { then } = Promise.prototype
const { addEventListener: nativeListen, dispatchEvent: nativeDispatch } = EventTarget.prototype
const {
  setInterval: nativeSetInterval,
  clearInterval: nativeClearInterval,
  EventTarget: NativeTarget,
} = window
const now = window.performance.now.bind(window.performance)

/** Sends a message to Node. @type {(word: string) => void} */
const report = Reflect.get(window, 'prepaintTell') ?? (() => {})

/** Run in the page's world when the snapshot begins, for what only this world knows. @type {(() => void)[]} */
const beforeCapture = []
nativeListen.call(document, 'prepaint-capture', () => {
  // By index: pages replace what `for ... of` uses.
  for (let at = 0; at < beforeCapture.length; at++) beforeCapture[at]?.()
})

const { createElement: nativeCreateElement } = Document.prototype
const { append: nativeAppend } = Element.prototype
/** @param {string} rules */
function writeRules(rules) {
  if (rules === '') return
  const style = nativeCreateElement.call(document, 'style')
  style.textContent = rules
  nativeAppend.call(document.head ?? document.documentElement, style)
}

/** False for the pages of a rule that waits, at the end of the script. */
const whenReady = { endsTimers: true }

/**
 * Replaces a method or getter if it exists; the page cannot tell.
 * @param {object | undefined} owner @param {string | symbol} name
 * @param {(native: Function, self: *, given: *[]) => unknown} as
 */
function intercept(owner, name, as) {
  const native = owner && Object.getOwnPropertyDescriptor(owner, name)
  if (!owner || !native) return
  /** @param {*} of */
  const to = (of) => new Proxy(of, { apply: (target, self, given) => as(target, self, given) })
  if (native.get) Object.defineProperty(owner, name, { ...native, get: to(native.get) })
  else if (typeof native.value === 'function')
    Object.defineProperty(owner, name, { ...native, value: to(native.value) })
}

/**
 * Hides the code of a function or class of ours from `toString`, as that of a browser's own is.
 * @template {Function} Of @param {Of} of @returns {Of}
 */
const asNative = (of) => new Proxy(of, {})

/**
 * An object of a class that cannot be constructed, with these properties of its own.
 * @template {object} Class @param {Class} prototype @param {Record<string, unknown>} properties @returns {Class}
 */
const objectOf = (prototype, properties, made = new NativeTarget()) => {
  const target = Object.setPrototypeOf(made, prototype)
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(target, name, { value, writable: true, configurable: true })
  return target
}

/** Reports real-time work to Node. Each script counts its own: work that never ends must not hide other work. */
function realTimeWork() {
  let open = 0
  /** Further calls of the returned function have no effect. */
  const begin = () => {
    if (++open === 1) report('busy')
    let isOpen = true
    return () => {
      if (isOpen && --open === 0) report('idle')
      isOpen = false
    }
  }
  /**
   * For methods whose promises settle in real time.
   * @param {object | undefined} owner @param {readonly string[]} names
   */
  const interceptPromises = (owner, names) => {
    for (const name of names) {
      intercept(owner, name, (native, self, given) => {
        const result = apply(native, self, given)
        if (result instanceof Promise) {
          const end = begin()
          then.call(result, end, end)
        }
        return result
      })
    }
  }
  return { begin, interceptPromises }
}

/** @type {WeakMap<EventTarget, Set<string>>} */
const sentEvents = new WeakMap()
/** @param {*} event */
const keyOf = ({ type, animationName, propertyName }) => `${type} ${animationName ?? propertyName ?? ''}`
/** Sends an event that otherwise comes with a frame. @param {EventTarget} target @param {Event} event */
function sendEarly(target, event) {
  sentEvents.set(target, (sentEvents.get(target) ?? new Set()).add(keyOf(event)))
  nativeDispatch.call(target, event)
}
/** Stops a late frame from sending the event again. @param {Event} event */
function dropRepeated(event) {
  if (!event.isTrusted || event.target === null) return
  if (sentEvents.get(event.target)?.delete(keyOf(event))) event.stopImmediatePropagation()
}

const CHECK_EVERY_MS = 100
/** What still changes after this time probably never stops. */
const CHECK_FOR_MS = 6_000
/** Returns a function that starts the repeated checks. @param {() => void} check */
function checkForAWhile(check) {
  let timer = 0
  let untilMs = 0
  return () => {
    untilMs = now() + CHECK_FOR_MS
    if (timer !== 0) return
    timer = nativeSetInterval(() => {
      check()
      if (now() < untilMs) return
      nativeClearInterval(timer)
      timer = 0
    }, CHECK_EVERY_MS)
  }
}
