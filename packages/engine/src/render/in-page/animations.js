// Under virtual time frames are hardly drawn, so CSS animations and transitions would not end, and pages would wait.
// A timer finishes those that are over by the page's clock, and sends their events.
{
  const { AnimationEvent, AnimationPlaybackEvent, TransitionEvent } = window
  const { getAnimations } = Document.prototype
  const { finish } = Animation.prototype

  const animationTime = Object.getOwnPropertyDescriptor(Animation.prototype, 'currentTime')
  /** @param {Animation} animation @returns {unknown} */
  const nativeTime = (animation) => animationTime?.get?.call(animation)

  /** Times of the page's clock. @type {WeakMap<Animation, number>} */
  const endsAt = new WeakMap()
  /** @param {Animation} animation */
  const end = (animation) => {
    const { effect } = animation
    const target = effect instanceof KeyframeEffect ? effect.target : null
    const pseudoElement = (effect instanceof KeyframeEffect && effect.pseudoElement) || ''
    const seconds = Number(effect?.getTiming().duration) / 1000 || 0
    finish.call(animation)
    sendEarly(animation, new AnimationPlaybackEvent('finish', { currentTime: animation.currentTime }))
    if (target === null) return
    const init = { bubbles: true, elapsedTime: seconds, pseudoElement }
    if (animation instanceof CSSAnimation) {
      const { animationName } = animation
      sendEarly(target, new AnimationEvent('animationend', { ...init, animationName }))
    } else if (animation instanceof CSSTransition) {
      const propertyName = animation.transitionProperty
      sendEarly(target, new TransitionEvent('transitionend', { ...init, propertyName }))
    }
  }
  nativeListen.call(window, 'animationend', dropRepeated, true)
  nativeListen.call(window, 'transitionend', dropRepeated, true)

  /** Returns a time of the page's clock, or null if it never ends or does not run. @param {Animation} animation */
  const endOf = (animation) => {
    const { effect, playState, playbackRate, startTime } = animation
    if (effect === null || playState === 'finished' || playState === 'paused' || playbackRate <= 0)
      return null
    const known = endsAt.get(animation)
    if (known !== undefined) return known
    // The page may have set its start by the timeline, which is ahead of the animation's own time.
    const ran = typeof startTime === 'number' ? (now() - startTime) * playbackRate : nativeTime(animation)
    const at = now() + (Number(effect.getComputedTiming().endTime) - Number(ran ?? 0)) / playbackRate
    endsAt.set(animation, at)
    nativeListen.call(animation, 'finish', dropRepeated, true)
    return at
  }
  const check = checkForAWhile(() => {
    for (const animation of getAnimations.call(document)) {
      const at = endOf(animation)
      if (at !== null && at <= now()) end(animation)
    }
  })

  // Without frames the timeline stands: show the page's clock, also for running animations.
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

  const WATCHED = /^(?:webkit)?(?:animation|transition)(?:end|start|run|iteration|cancel)$/i
  for (const name of ['addEventListener', 'when']) {
    intercept(EventTarget.prototype, name, (native, self, given) => {
      if (WATCHED.test(given[0])) check()
      return apply(native, self, given)
    })
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
          check()
          set.call(this, handler)
        },
      })
    }
  }
  intercept(Element.prototype, 'animate', (native, self, given) => {
    check()
    const animation = apply(native, self, given)
    endOf(animation)
    return animation
  })
  for (const [owner, name] of /** @type {const} */ ([
    [Animation.prototype, 'play'],
    [Element.prototype, 'getAnimations'],
  ])) {
    intercept(owner, name, (native, self, given) => {
      check()
      return apply(native, self, given)
    })
  }

  // View transitions skip the animation and apply the change.
  const { ViewTransition } = window
  /** @type {unknown} */
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
      value: asNative(startViewTransition),
    })
  }
  const activeOf = Object.getOwnPropertyDescriptor(Document.prototype, 'activeViewTransition')
  if (activeOf !== undefined)
    Object.defineProperty(Document.prototype, 'activeViewTransition', { ...activeOf, get: () => active })
}
