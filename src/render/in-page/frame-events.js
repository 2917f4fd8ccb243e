// Runs first in every document. Some events are sent with the next frame, of
// which none is drawn under virtual time: that a script has scrolled, and that
// a dialog was closed. They are sent by a timer instead.
;(() => {
  const { setTimeout, Event, HTMLDialogElement } = window
  const { addEventListener, dispatchEvent } = EventTarget.prototype
  const { apply } = Reflect
  const FRAME_MS = 16

  /** Sent by us; a late frame must not send it again. @type {WeakMap<EventTarget, Set<string>>} */
  const told = new WeakMap()
  /** On its way. @type {WeakMap<EventTarget, Set<string>>} */
  const due = new WeakMap()
  /** @param {WeakMap<EventTarget, Set<string>>} map @param {EventTarget} target */
  const of = (map, target) => {
    const known = map.get(target)
    if (known !== undefined) return known
    /** @type {Set<string>} */
    const names = new Set()
    map.set(target, names)
    return names
  }
  /** @param {EventTarget} target @param {string} type @param {EventInit} [init] */
  const send = (target, type, init = {}) => {
    if (of(due, target).has(type)) return
    of(due, target).add(type)
    setTimeout(() => {
      of(due, target).delete(type)
      of(told, target).add(type)
      apply(dispatchEvent, target, [new Event(type, init)])
    }, FRAME_MS)
  }
  /** @param {Event} event */
  const onlyOnce = (event) => {
    if (!event.isTrusted || event.target === null) return
    if (told.get(event.target)?.delete(event.type)) event.stopImmediatePropagation()
  }
  for (const type of ['scroll', 'scrollend', 'close']) {
    addEventListener.call(window, type, onlyOnce, true)
  }

  /** @param {object} owner @param {string} name @param {(native: Function, self: *, given: *[]) => unknown} as */
  const replace = (owner, name, as) => {
    const native = Object.getOwnPropertyDescriptor(owner, name)
    if (typeof native?.value !== 'function') return
    const value = new Proxy(native.value, { apply: (target, self, given) => as(target, self, given) })
    Object.defineProperty(owner, name, { ...native, value })
  }

  const scrollingElement = Object.getOwnPropertyDescriptor(Document.prototype, 'scrollingElement')
  const scrollTop = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollTop')
  const scrollLeft = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollLeft')
  /** What the viewport scrolls. @returns {Element | null} */
  const page = () => scrollingElement?.get?.call(document) ?? null
  /** @param {Element} element */
  const placeOf = (element) => `${scrollTop?.get?.call(element)} ${scrollLeft?.get?.call(element)}`
  /** @param {readonly (Element | null)[]} elements What may move. @param {() => unknown} scroll */
  const scrolling = (elements, scroll) => {
    const places = elements.map((element) => element && placeOf(element))
    const result = scroll()
    for (const [at, element] of elements.entries()) {
      if (element === null || placeOf(element) === places[at]) continue
      const isPage = element === page()
      send(isPage ? document : element, 'scroll', { bubbles: isPage })
      send(isPage ? document : element, 'scrollend', { bubbles: isPage })
    }
    return result
  }
  /** @param {Element} element @returns {Element[]} */
  const around = (element) => {
    const found = []
    for (let at = element.parentElement; at !== null; at = at.parentElement) found.push(at)
    return found
  }
  // Nobody sees the way there, and without frames nothing would get along it.
  /** @param {*[]} given */
  const atOnce = ([first, ...rest]) =>
    typeof first === 'object' && first !== null
      ? [{ ...first, behavior: 'instant' }, ...rest]
      : [first, ...rest]
  for (const name of ['scroll', 'scrollTo', 'scrollBy']) {
    replace(window, name, (native, self, given) =>
      scrolling([page()], () => apply(native, self, atOnce(given))),
    )
    replace(Element.prototype, name, (native, self, given) =>
      scrolling([self], () => apply(native, self, atOnce(given))),
    )
  }
  replace(Element.prototype, 'scrollIntoView', (native, self, given) =>
    scrolling(around(self), () =>
      apply(native, self, given[0] === undefined || typeof given[0] === 'boolean' ? given : atOnce(given)),
    ),
  )
  for (const [name, native] of Object.entries({ scrollTop, scrollLeft })) {
    if (native?.set === undefined) continue
    const { set } = native
    Object.defineProperty(Element.prototype, name, {
      ...native,
      /** @this {Element} @param {number} value */
      set(value) {
        scrolling([this], () => set.call(this, value))
      },
    })
  }

  for (const name of ['close', 'requestClose']) {
    replace(HTMLDialogElement.prototype, name, (native, self, given) => {
      const wasOpen = self instanceof HTMLDialogElement && self.open
      const result = apply(native, self, given)
      if (wasOpen && !self.open) send(self, 'close')
      return result
    })
  }
})()
