import { PasswordInput, Progress, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import {
  PASSWORD_MAX_CHARS,
  PASSWORD_MIN_CHARS,
  passwordChars,
  passwordScore,
} from '@prepaint/contract/passwords.ts'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Note } from '../../parts/page.tsx'

export const newPasswordRules = {
  password: passwordProblem,
  repeated: (repeated: string, { password }: { password: string }) =>
    repeated === password ? null : 'The passwords do not match',
}

/** The server has the same rules. */
function passwordProblem(password: string): string | null {
  const chars = passwordChars(password)
  if (chars < PASSWORD_MIN_CHARS) return `Use at least ${PASSWORD_MIN_CHARS} characters`
  if (chars > PASSWORD_MAX_CHARS) return `Use at most ${PASSWORD_MAX_CHARS} characters`
  return null
}

const STRENGTHS = [
  { percent: 10, text: 'Too easy to guess', color: 'red' },
  { percent: 25, text: 'Too easy to guess', color: 'red' },
  { percent: 50, text: 'Fair: longer is better', color: 'yellow' },
  { percent: 75, text: 'Good', color: 'paint' },
  { percent: 100, text: 'Strong', color: 'paint' },
] as const

const NOTHING_YET = { percent: 0, text: 'Several unrelated words are best', color: 'gray' } as const
const TOO_SHORT = {
  percent: 10,
  text: `Too short: use at least ${PASSWORD_MIN_CHARS} characters`,
  color: 'red',
} as const

/** The lists of the estimate are loaded with the first character. */
function useStrength(password: string, words: readonly string[]) {
  const isLongEnough = passwordChars(password) >= PASSWORD_MIN_CHARS
  const score = useQuery({
    queryKey: ['password-score', password, ...words],
    queryFn: () => passwordScore(password, words),
    enabled: password !== '',
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    // Passwords do not stay in memory.
    gcTime: 0,
    retry: false,
  })
  if (password === '') return NOTHING_YET
  if (!isLongEnough) return TOO_SHORT
  return (score.data === undefined ? undefined : STRENGTHS[score.data]) ?? NOTHING_YET
}

/** `words`: what a guesser knows of the person. */
export function NewPassword<Values extends { password: string; repeated: string }>({
  form,
  words,
}: {
  form: UseFormReturnType<Values>
  words: readonly string[]
}) {
  const strength = useStrength(form.values.password, words)
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
