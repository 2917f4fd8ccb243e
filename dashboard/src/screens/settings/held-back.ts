/** Of the entry of the history that stands in the way back. */
const HELD = { isHeld: true }

/** Whether the next screen takes the place of an entry that only stands in the way. */
export function isWayBackHeld(): boolean {
  const state: unknown = history.state
  return typeof state === 'object' && state !== null && 'isHeld' in state
}

/**
 * Puts an entry of the same address before the one that is shown: the browser's
 * way back leads from the one to the other, so the screen stays, and `onBack`
 * is told. `again` puts it there once more; `release` takes it away.
 */
export function holdWayBack(onBack: () => void): { again(): void; release(): void } {
  // What was scrolled since is not to be undone when that entry goes.
  history.scrollRestoration = 'manual'
  const again = () => history.pushState(HELD, '')
  const popped = () => {
    if (!isWayBackHeld()) onBack()
  }
  again()
  window.addEventListener('popstate', popped)
  return {
    again,
    release() {
      window.removeEventListener('popstate', popped)
      dropHeldEntry()
    },
  }
}

/** Going back takes a moment, in which that entry is still the one that is shown. */
let isDropping = false

/** Where such an entry is shown, also one that has outlived a reload: it goes. */
export function dropHeldEntry(): void {
  if (isDropping) return
  if (!isWayBackHeld()) {
    history.scrollRestoration = 'auto'
    return
  }
  isDropping = true
  const gone = () => {
    isDropping = false
    history.scrollRestoration = 'auto'
  }
  window.addEventListener('popstate', gone, { once: true })
  history.back()
}
