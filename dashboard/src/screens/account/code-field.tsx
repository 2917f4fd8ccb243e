import { TextInput } from '@mantine/core'

/** The six digits of an authenticator app. */
export function CodeField(props: { value: string; onChange: (code: string) => void; hasFocus?: boolean }) {
  const { value, onChange, hasFocus = false } = props
  return (
    <TextInput
      label="Code of your authenticator app"
      description="6 digits"
      inputMode="numeric"
      autoComplete="one-time-code"
      spellCheck={false}
      data-autofocus={hasFocus ? true : undefined}
      autoFocus={hasFocus}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
