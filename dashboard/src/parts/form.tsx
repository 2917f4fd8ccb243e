import type { ReactNode } from 'react'

/** What a form shows of its mutation. */
export type Sent = { isPending: boolean; error: unknown }

/** A form whose fields say themselves what is wrong. */
export function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}
