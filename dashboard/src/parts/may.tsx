import type { Action } from '@prepaint/contract/roles.ts'
import type { ReactNode } from 'react'
import { useRights } from '../api/rights.ts'
import { Note } from './page.tsx'

/** Shows what belongs to an action only to those who may do it. */
export function May({ action, children }: { action: Action; children: ReactNode }) {
  return useRights()(action) && children
}

/** Fields and buttons for an action: others see them, but cannot use them. */
export function Editable({ action, children }: { action: Action; children: ReactNode }) {
  const may = useRights()(action)
  return (
    <>
      {!may && <Note size="sm">Your role can see this, but not change it.</Note>}
      <fieldset className="plain" disabled={!may}>
        {children}
      </fieldset>
    </>
  )
}
