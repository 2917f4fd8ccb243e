import { PasswordInput, Progress, Stack, Text } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'

/** As the server has it. */
export const PASSWORD_MIN_CHARS = 8
export const PASSWORD_MAX_CHARS = 128

export type NewPasswordValues = { password: string; repeated: string }

/** What is wrong with a new password; null: nothing. Counted as the server counts. */
export function passwordProblem(password: string): string | null {
  const chars = [...password.normalize('NFKC')].length
  if (chars < PASSWORD_MIN_CHARS) return `Use at least ${PASSWORD_MIN_CHARS} characters`
  if (chars > PASSWORD_MAX_CHARS) return `Use at most ${PASSWORD_MAX_CHARS} characters`
  return null
}

/** A rough judgement in words: length counts most, then how many different characters there are. */
export function passwordStrength(password: string): { percent: number; word: string; color: string } {
  const chars = [...password]
  if (chars.length === 0)
    return { percent: 0, word: 'Several words that do not belong together are best', color: 'gray' }
  const kinds = [/\p{Ll}/u, /\p{Lu}/u, /\p{N}/u, /[^\p{L}\p{N}]/u].filter((kind) =>
    kind.test(password),
  ).length
  const score = Math.min(new Set(chars).size, chars.length / 1.5) + kinds * 1.5
  if (passwordProblem(password) !== null || score < 9)
    return { percent: 25, word: 'Easily guessed', color: 'red' }
  if (score < 13) return { percent: 60, word: 'Fair: longer is better', color: 'yellow' }
  return { percent: 100, word: 'Strong', color: 'paint' }
}

/** Of a field of a form. */
type InputProps = GetInputPropsReturnType

/** The new password, twice, with a hint how good it is. */
export function NewPassword(props: { password: InputProps; repeated: InputProps; value: string }) {
  const strength = passwordStrength(props.value)
  return (
    <Stack gap="sm">
      <PasswordInput
        label="New password"
        description={`${PASSWORD_MIN_CHARS} characters or more`}
        autoComplete="new-password"
        required
        {...props.password}
      />
      <Stack gap={4}>
        <Progress value={strength.percent} color={strength.color} size="xs" aria-hidden />
        <Text size="xs" className="quiet" role="status">
          {strength.word}
        </Text>
      </Stack>
      <PasswordInput label="The same again" autoComplete="new-password" required {...props.repeated} />
    </Stack>
  )
}
