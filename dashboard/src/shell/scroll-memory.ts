/** How far each screen was scrolled, by its address. Lives as long as the window. */
const places = new Map<string, number>()
const MOST = 200
/** Data that was shown before is there at once; other data is waited for. */
const PATIENCE_MS = 2_000

/** Where to return to after the browser went back or forward; null: the new screen starts at its top. */
let returnsTo: number | null = null

const address = () => `${location.pathname}${location.search}`

function remember(): void {
  places.delete(address())
  places.set(address(), window.scrollY)
  const [oldest] = places.keys()
  if (places.size > MOST && oldest !== undefined) places.delete(oldest)
}

// Read before the browser scrolls the screen that is still shown.
function goBack(): void {
  returnsTo = places.get(address()) ?? 0
}

/** Call once. Returns how to stop. */
export function watchScrolling(): () => void {
  window.addEventListener('scroll', remember, { passive: true })
  window.addEventListener('popstate', goBack)
  return () => {
    window.removeEventListener('scroll', remember)
    window.removeEventListener('popstate', goBack)
  }
}

/** Scrolls a new screen to its top, or to where it was left if the browser went back to it. */
export function scrollNewScreen(): void {
  const place = returnsTo ?? 0
  returnsTo = null
  const untilMs = performance.now() + PATIENCE_MS
  const scroll = () => {
    window.scrollTo(0, place)
    const isThere = Math.abs(window.scrollY - place) < 1
    if (!isThere && performance.now() < untilMs) requestAnimationFrame(scroll)
  }
  scroll()
}
