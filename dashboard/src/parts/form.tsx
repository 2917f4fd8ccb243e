import type { ReactNode } from 'react'

/** What a form shows of the mutation that sends it. */
export type Sent = { isPending: boolean; error: unknown; reset: () => void }

/** A form whose fields show what is wrong with them, instead of the browser. A refusal goes with the next keystroke. */
export function Form(props: { sent?: Sent; onSubmit: () => void; children: ReactNode }) {
  const { sent, onSubmit, children } = props
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
      onKeyDown={(event) => {
        // In a text area, Enter alone begins a line.
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        event.currentTarget.requestSubmit()
      }}
      onChange={() => {
        if (sent !== undefined && sent.error !== null) sent.reset()
      }}
    >
      {children}
    </form>
  )
}
