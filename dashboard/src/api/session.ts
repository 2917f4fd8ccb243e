import { createContext, use } from 'react'

import type { Me } from './types.ts'

const context = createContext<Me | null>(null)

/** Makes known who is signed in to all below. */
export const SignedIn = context

export function useMe(): Me {
  const me = use(context)
  if (me === null) throw new Error('nobody is signed in here')
  return me
}
