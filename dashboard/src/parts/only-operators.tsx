import type { ReactNode } from 'react'

import { NotFound } from '../screens/not-found.tsx'
import { useMe } from '../signed-in.tsx'

/** To others these screens are not there; and the server tells them nothing. */
export function OnlyOperators({ children }: { children: ReactNode }) {
  return useMe().role === 'operator' ? children : <NotFound />
}
