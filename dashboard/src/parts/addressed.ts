import { useEffect, useEffectEvent } from 'react'

/** Elements may still be loading. */
const PATIENCE_MS = 2_000

/** Calls `open` when an address such as `/members#invite` leads to the screen, and removes the name from the address. */
export function useAddressed(name: string, open: () => void): void {
  const openOnce = useEffectEvent(() => {
    if (location.hash !== `#${name}`) return
    history.replaceState(history.state, '', `${location.pathname}${location.search}`)
    open()
  })
  useEffect(() => {
    const look = () => openOnce()
    look()
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
}

/** Gives the focus to what the address names after `#`, once it is on the screen. Returns whether it names something. */
export function showNamedPlace(): boolean {
  const name = decodeURIComponent(location.hash.slice(1))
  if (name === '') return false
  const untilMs = performance.now() + PATIENCE_MS
  const show = () => {
    const place = document.getElementById(name)
    if (place !== null) {
      place.scrollIntoView({ block: place.matches(FOCUSABLE) ? 'center' : 'start' })
      const target = place.matches(FOCUSABLE) ? place : place.querySelector<HTMLElement>(FOCUSABLE)
      target?.focus({ preventScroll: true })
    } else if (location.hash.slice(1) === name && performance.now() < untilMs) {
      requestAnimationFrame(show)
    }
  }
  show()
  return true
}

const FOCUSABLE = 'input, select, textarea, button, a, summary'
