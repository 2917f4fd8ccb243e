import type { ReactNode } from 'react'
import { useMe } from '../../api/session.ts'
import { NotFound } from '../../shell/not-found.tsx'

/** To others these screens are not there; and the server tells them nothing. */
export function OnlyOperators({ children }: { children: ReactNode }) {
  return useMe().role === 'operator' ? children : <NotFound />
}
