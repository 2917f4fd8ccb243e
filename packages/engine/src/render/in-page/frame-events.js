// Scroll and dialog `close` events come with the next frame, which virtual time never draws. A timer sends them.
{
  const { setTimeout, Event, HTMLDialogElement } = window
  const FRAME_MS = 16

  /** @type {WeakMap<EventTarget, Set<string>>} */
  const due = new WeakMap()
  /** @param {EventTarget} target @param {string} type @param {EventInit} [init] */
  const send = (target, type, init = {}) => {
    const types = due.get(target) ?? new Set()
    if (types.has(type)) return
    due.set(target, types.add(type))
    setTimeout(() => {
      types.delete(type)
      sendEarly(target, new Event(type, init))
    }, FRAME_MS)
  }
  for (const type of ['scroll', 'scrollend', 'close']) {
    nativeListen.call(window, type, dropRepeated, true)
  }

  const scrollingElement = Object.getOwnPropertyDescriptor(Document.prototype, 'scrollingElement')
  const scrollTop = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollTop')
  const scrollLeft = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollLeft')
  /** @returns {Element | null} */
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
  /** @param {*[]} given */
  const atOnce = ([first, ...rest]) =>
    typeof first === 'object' && first !== null
      ? [{ ...first, behavior: 'instant' }, ...rest]
      : [first, ...rest]
  for (const name of ['scroll', 'scrollTo', 'scrollBy']) {
    intercept(window, name, (native, self, given) =>
      scrolling([page()], () => apply(native, self, atOnce(given))),
    )
    intercept(Element.prototype, name, (native, self, given) =>
      scrolling([self], () => apply(native, self, atOnce(given))),
    )
  }
  intercept(Element.prototype, 'scrollIntoView', (native, self, given) =>
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
    intercept(HTMLDialogElement.prototype, name, (native, self, given) => {
      const wasOpen = self instanceof HTMLDialogElement && self.open
      const result = apply(native, self, given)
      if (wasOpen && !self.open) send(self, 'close')
      return result
    })
  }
}
