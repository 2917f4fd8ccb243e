import { AppError, type ErrorCode } from '../errors.ts'

/** A number from a path; throws `unknown` for what is none. */
export function idOf(raw: string, unknown: ErrorCode): number {
  if (!/^[1-9]\d{0,14}$/.test(raw)) throw new AppError(unknown)
  return Number(raw)
}
