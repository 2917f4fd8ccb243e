import { AppError } from '../errors.ts'

export const SECRET_NAME_LIMIT_CHARS = 100

const CONTROL = /[\x00-\x1f\x7f]/

/**
 * The name that its creator gives to a key or token, without blanks around it.
 * Throws `invalid_field` for an empty one, one of more than 100 characters, or
 * one with control characters.
 */
export function parseSecretName(raw: string): string {
  const name = raw.trim()
  if (name === '') throw new AppError('invalid_field', { word: 'name is required' })
  if (CONTROL.test(name) || !name.isWellFormed()) {
    throw new AppError('invalid_field', { word: 'name must not hold control characters' })
  }
  if ([...name].length > SECRET_NAME_LIMIT_CHARS) {
    throw new AppError('invalid_field', {
      word: `name must have at most ${SECRET_NAME_LIMIT_CHARS} characters`,
    })
  }
  return name
}
