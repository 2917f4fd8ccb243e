import { AppError, publicError } from '@prepaint/contract/errors.ts'

/** For `assert.rejects` and `assert.throws`: an error that callers are shown, with this text. */
export function says(text: string) {
  return (error: unknown) => error instanceof AppError && publicError(error).body.error === text
}
