import { TextInput } from '@mantine/core'

export const emailProblem = (email: string): string | null =>
  /^\S+@\S+$/.test(email.trim()) ? null : 'Enter an e-mail address, such as you@example.com'

export function EmailField(props: {
  input: object
  description?: string
  isReadOnly?: boolean
  hasFocus?: boolean
}) {
  return (
    <TextInput
      label="E-mail"
      type="email"
      autoComplete="username"
      description={props.description}
      readOnly={props.isReadOnly ?? false}
      autoFocus={props.hasFocus ?? false}
      required
      {...props.input}
    />
  )
}
