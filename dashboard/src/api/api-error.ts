import type { errorSchema } from '@prepaint/contract/api/error.ts'
import type { Problem } from '@prepaint/contract/problem.ts'
import type { z } from 'zod'

export type ErrorAnswer = z.infer<typeof errorSchema>
type LineError = { line: number; error: string }
type Details = { lines?: readonly LineError[]; problems?: readonly Problem[] }

export class ApiError extends Error {
  /** The status of the response, or 0 if there was none. */
  readonly status: number
  /** The lines of a list or file that were refused. */
  readonly lines: readonly LineError[]
  /** The fields of the request that were refused. */
  readonly problems: readonly Problem[]

  constructor(status: number, message: string, { lines = [], problems = [] }: Details = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.lines = lines
    this.problems = problems
  }
}
