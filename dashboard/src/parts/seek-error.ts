import { useEffect, useState } from 'react'

/** Returns how to give the focus to the first field that is marked as wrong, once the marks are there. */
export function useSeekError(): () => void {
  const [isSeeking, setSeeking] = useState(false)
  useEffect(() => {
    if (!isSeeking) return
    setSeeking(false)
    document.querySelector<HTMLElement>('main [aria-invalid=true]')?.focus()
  }, [isSeeking])
  return () => setSeeking(true)
}
