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

  const look = () => {
    for (const animation of getAnimations.call(document)) {
      const { effect, playState, playbackRate } = animation
      if (effect === null || playState === 'finished' || playState === 'paused' || playbackRate <= 0) continue
      let at = endsAt.get(animation)
      if (at === undefined) {
        const left = Number(effect.getComputedTiming().endTime) - Number(animation.currentTime ?? 0)
        at = now() + left / playbackRate
        endsAt.set(animation, at)
        addEventListener.call(animation, 'finish', onlyOnce, true)
      }
      if (at <= now()) end(animation)
    }
  }

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
    return Reflect.apply(nativeAnimate, this, given)
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
  if ('startViewTransition' in Document.prototype) {
    /** @param {any} given */
    Document.prototype.startViewTransition = (given) => {
      const update = typeof given === 'function' ? given : given?.update
      const updateCallbackDone = Promise.resolve().then(() => update?.())
      const done = updateCallbackDone.then(() => {})
      done.catch(() => {})
      return /** @type {any} */ ({
        updateCallbackDone,
        ready: done,
        finished: done,
        types: new Set(given?.types),
        skipTransition() {},
        waitUntil() {},
      })
    }
  }
})()
