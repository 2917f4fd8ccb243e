// Runs first in every document. Under virtual time hardly a frame is drawn, so
// CSS animations and transitions would neither begin nor end, and pages that go
// on at their end (or in a view transition) would stand still. A timer looks at
// what is animated, finishes what is over by the page's own clock, and sends the
// events that a frame would have sent.
;(() => {
  const { setInterval, clearInterval, performance, AnimationEvent, AnimationPlaybackEvent, TransitionEvent } =
    window
  const now = performance.now.bind(performance)
  const { addEventListener, dispatchEvent } = EventTarget.prototype
  const { getAnimations } = Document.prototype
  const { finish } = Animation.prototype
  const nativeAnimate = Element.prototype.animate

  const LOOK_EVERY_MS = 100
  /** What still animates after that does so for ever, or nobody waits for it. */
  const LOOK_FOR_MS = 6_000

  const animationTime = Object.getOwnPropertyDescriptor(Animation.prototype, 'currentTime')
  /** @param {Animation} animation @returns {unknown} */
  const nativeTime = (animation) => animationTime?.get?.call(animation)

  /** When each will be over, by the page's clock. @type {WeakMap<Animation, number>} */
  const endsAt = new WeakMap()
  /** Already told by us; a late frame must not tell it again. @type {WeakMap<EventTarget, Set<string>>} */
  const told = new WeakMap()

  /** @param {Animation} animation */
  const nameOf = (animation) =>
    animation instanceof CSSAnimation
      ? `animationend ${animation.animationName}`
      : animation instanceof CSSTransition
        ? `transitionend ${animation.transitionProperty}`
        : ''

  /** @param {Animation} animation */
  const end = (animation) => {
    const { effect } = animation
    const target = effect instanceof KeyframeEffect ? effect.target : null
    const pseudoElement = (effect instanceof KeyframeEffect && effect.pseudoElement) || ''
    const seconds = Number(effect?.getTiming().duration) / 1000 || 0
    finish.call(animation)
    send(animation, new AnimationPlaybackEvent('finish', { currentTime: animation.currentTime }), 'finish ')
    if (target === null) return
    const name = nameOf(animation)
    if (name === '') return
    const init = { bubbles: true, elapsedTime: seconds, pseudoElement }
    const event =
      animation instanceof CSSAnimation
        ? new AnimationEvent('animationend', { ...init, animationName: animation.animationName })
        : new TransitionEvent('transitionend', {
            ...init,
            propertyName: /** @type {CSSTransition} */ (animation).transitionProperty,
          })
    send(target, event, name)
  }

  /** @type {WeakSet<Event>} */
  const ours = new WeakSet()
  /** @param {EventTarget} target @param {Event} event @param {string} name */
  const send = (target, event, name) => {
    told.set(target, (told.get(target) ?? new Set()).add(name))
    ours.add(event)
    dispatchEvent.call(target, event)
  }
  /** @param {Event} event */
  const onlyOnce = (event) => {
    if (ours.has(event) || event.target === null) return
    const of =
      event instanceof AnimationEvent
        ? event.animationName
        : event instanceof TransitionEvent
          ? event.propertyName
          : ''
    if (told.get(event.target)?.delete(`${event.type} ${of}`)) event.stopImmediatePropagation()
  }
  addEventListener.call(window, 'animationend', onlyOnce, true)
  addEventListener.call(window, 'transitionend', onlyOnce, true)

  /** When it is over, by the page's clock; null: never, or it does not run. @param {Animation} animation */
  const take = (animation) => {
    const { effect, playState, playbackRate, startTime } = animation
    if (effect === null || playState === 'finished' || playState === 'paused' || playbackRate <= 0)
      return null
    const known = endsAt.get(animation)
    if (known !== undefined) return known
    // A page may have set its start by the timeline, which is ahead of what no frame has moved.
    const ran = typeof startTime === 'number' ? (now() - startTime) * playbackRate : nativeTime(animation)
    const at = now() + (Number(effect.getComputedTiming().endTime) - Number(ran ?? 0)) / playbackRate
    endsAt.set(animation, at)
    addEventListener.call(animation, 'finish', onlyOnce, true)
    return at
  }
  const look = () => {
    for (const animation of getAnimations.call(document)) {
      const at = take(animation)
      if (at !== null && at <= now()) end(animation)
    }
  }

  // No frame moves the timeline: it tells the time of the page's other clocks, and so does an animation that runs.
  const timelineTime = Object.getOwnPropertyDescriptor(AnimationTimeline.prototype, 'currentTime')
  Object.defineProperty(AnimationTimeline.prototype, 'currentTime', {
    ...timelineTime,
    /** @this {AnimationTimeline} */
    get() {
      const native = timelineTime?.get?.call(this)
      return typeof native === 'number' && this instanceof DocumentTimeline ? Math.max(native, now()) : native
    },
  })
  Object.defineProperty(Animation.prototype, 'currentTime', {
    ...animationTime,
    /** @this {Animation} */
    get() {
      const native = nativeTime(this)
      const at = endsAt.get(this)
      const { effect, playState, playbackRate } = this
      if (at === undefined || effect === null || playState !== 'running') return native
      const end = Number(effect.getComputedTiming().endTime)
      return Number.isFinite(end) ? Math.max(Number(native), end - (at - now()) * playbackRate) : native
    },
    /** @this {Animation} @param {unknown} given */
    set(given) {
      endsAt.delete(this)
      animationTime?.set?.call(this, given)
    },
  })

  let timer = 0
  let untilMs = 0
  /** Only pages that could notice the end of an animation are looked at. */
  const lookOut = () => {
    untilMs = now() + LOOK_FOR_MS
    if (timer === 0) {
      timer = setInterval(() => {
        look()
        if (now() < untilMs) return
        clearInterval(timer)
        timer = 0
      }, LOOK_EVERY_MS)
    }
  }

  const WATCHED = /^(?:webkit)?(?:animation|transition)(?:end|start|run|iteration|cancel)$/i
  EventTarget.prototype.addEventListener = function (/** @type {string} */ type, ...rest) {
    if (WATCHED.test(type)) lookOut()
    return Reflect.apply(addEventListener, this, [type, ...rest])
  }
  const { when } = /** @type {any} */ (EventTarget.prototype)
  if (typeof when === 'function') {
    const watched = {
      /** @this {object} @param {string} type @param {any[]} rest */
      when(type, ...rest) {
        if (WATCHED.test(type)) lookOut()
        return Reflect.apply(when, this, [type, ...rest])
      },
    }
    Reflect.set(EventTarget.prototype, 'when', watched.when)
  }
  for (const name of ['onanimationend', 'ontransitionend']) {
    for (const owner of [HTMLElement.prototype, SVGElement.prototype, Document.prototype, window]) {
      const native = Object.getOwnPropertyDescriptor(owner, name)
      if (native?.set === undefined) continue
      const { set } = native
      Object.defineProperty(owner, name, {
        ...native,
        /** @this {object} @param {unknown} handler */
        set(handler) {
          lookOut()
          set.call(this, handler)
        },
      })
    }
  }
  Element.prototype.animate = function (...given) {
    lookOut()
    const animation = Reflect.apply(nativeAnimate, this, given)
    // From now on it is known when it will be over.
    take(animation)
    return animation
  }
  const nativePlay = Animation.prototype.play
  Animation.prototype.play = function () {
    lookOut()
    return nativePlay.call(this)
  }
  const elementAnimations = Element.prototype.getAnimations
  Element.prototype.getAnimations = function (...given) {
    lookOut()
    return Reflect.apply(elementAnimations, this, given)
  }

  // The change is what counts; there is nobody to see the way to it.
  const { ViewTransition } = window
  /** The one under way. @type {unknown} */
  let active = null
  /** @param {any} given */
  const startViewTransition = (given) => {
    const update = typeof given === 'function' ? given : given?.update
    const updateCallbackDone = Promise.resolve().then(() => update?.())
    const done = updateCallbackDone.then(() => {})
    const transition = Object.create(ViewTransition.prototype, {
      updateCallbackDone: { value: updateCallbackDone },
      ready: { value: done },
      finished: { value: done },
      types: { value: new Set(given?.types) },
      skipTransition: { value() {} },
      waitUntil: { value() {} },
    })
    active = transition
    const end = () => {
      if (active === transition) active = null
    }
    done.then(end, end)
    return transition
  }
  for (const owner of [Document.prototype, Element.prototype]) {
    if (!('startViewTransition' in owner)) continue
    Object.defineProperty(owner, 'startViewTransition', {
      ...Object.getOwnPropertyDescriptor(owner, 'startViewTransition'),
      value: startViewTransition,
    })
  }
  const activeOf = Object.getOwnPropertyDescriptor(Document.prototype, 'activeViewTransition')
  if (activeOf !== undefined)
    Object.defineProperty(Document.prototype, 'activeViewTransition', { ...activeOf, get: () => active })
})()
