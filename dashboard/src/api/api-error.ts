import type { errorSchema } from '@prepaint/contract/api/error.ts'
import type { ErrorCode } from '@prepaint/contract/errors.ts'
import { fieldName, type Problem, type ProblemPath } from '@prepaint/contract/problem.ts'
import type { z } from 'zod'

export type ErrorAnswer = z.infer<typeof errorSchema>
type LineError = { line: number; error: string }
type Details = { code?: ErrorCode | null; lines?: readonly LineError[]; problems?: readonly Problem[] }

export class ApiError extends Error {
  /** The status of the response, or 0 if there was none. */
  readonly status: number
  /** What is wrong, as the server's table of errors names it; null: not told. */
  readonly code: ErrorCode | null
  /** The lines of a list or file that were refused. */
  readonly lines: readonly LineError[]
  /** The fields of the request that were refused. */
  readonly problems: readonly Problem[]

  constructor(status: number, message: string, { code = null, lines = [], problems = [] }: Details = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.lines = lines
    this.problems = problems
  }
}

/** Whether the server refused a request for this reason. */
export function isRefusal(error: unknown, ...codes: readonly ErrorCode[]): error is ApiError {
  return error instanceof ApiError && error.code !== null && codes.includes(error.code)
}

/** Names a place within a request as people do: `settings.rules[3].path` is "Rule 4, path". */
export function placeInWords(path: ProblemPath): string {
  const place = path[0] === 'settings' ? path.slice(1) : path
  const [list, at, ...within] = place
  if (list !== 'rules' || typeof at !== 'number') return fieldName(place)
  return within.length === 0 ? `Rule ${at + 1}` : `Rule ${at + 1}, ${fieldName(within)}`
}

/** Says what is wrong in words, if the answer names a rule; else null. */
export function rulesInWords(problems: readonly Problem[]): string | null {
  if (!problems.some(({ path }) => path.includes('rules'))) return null
  return problems.map(({ path, message }) => `${placeInWords(path)} ${message}.`).join(' ')
}
