import { PasswordInput, Progress, Stack, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { Note } from '../../parts/page.tsx'

/** The server has the same limits. */
const PASSWORD_MIN_CHARS = 8
const PASSWORD_MAX_CHARS = 128

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

export const newPasswordRules = {
  password: passwordProblem,
  repeated: (repeated: string, { password }: { password: string }) =>
    repeated === password ? null : 'The passwords do not match',
}

/** Counts characters like the server. */
function passwordProblem(password: string): string | null {
  const chars = [...password.normalize('NFKC')].length
  if (chars < PASSWORD_MIN_CHARS) return `Use at least ${PASSWORD_MIN_CHARS} characters`
  if (chars > PASSWORD_MAX_CHARS) return `Use at most ${PASSWORD_MAX_CHARS} characters`
  return null
}

/** A rough estimate: mostly length, then the number of different characters. */
function passwordStrength(password: string): { percent: number; text: string; color: string } {
  const chars = [...password]
  if (chars.length === 0) return { percent: 0, text: 'Several unrelated words are best', color: 'gray' }
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}]/u].filter((kind) =>
    kind.test(password),
  ).length
  const score = Math.min(new Set(chars).size, chars.length / 1.5) + kinds * 1.5
  if (passwordProblem(password) !== null || score < 9) {
    return { percent: 25, text: 'Weak: easy to guess', color: 'red' }
  }
  if (score < 13) return { percent: 60, text: 'Fair: longer is better', color: 'yellow' }
  return { percent: 100, text: 'Strong', color: 'paint' }
}

export function NewPassword<Values extends { password: string; repeated: string }>({
  form,
}: {
  form: UseFormReturnType<Values>
}) {
  const strength = passwordStrength(form.values.password)
  return (
    <Stack gap="sm">
      <PasswordInput
        label="New password"
        description={`${PASSWORD_MIN_CHARS} characters or more`}
        autoComplete="new-password"
        required
        {...form.getInputProps('password')}
      />
      <Stack gap={4}>
        <Progress value={strength.percent} color={strength.color} size="xs" aria-hidden />
        <Note role="status">{strength.text}</Note>
      </Stack>
      <PasswordInput
        label="Repeat the password"
        autoComplete="new-password"
        required
        {...form.getInputProps('repeated')}
      />
    </Stack>
  )
}
