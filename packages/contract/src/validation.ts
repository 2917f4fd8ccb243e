import { z } from 'zod'
import { fieldName, type Problem, problemText } from './problem.ts'

/** Further problems of a request are not listed. */
export const PROBLEMS_LIMIT = 100

/** Returns what `schema` finds wrong with `value`, in the order of the schema's fields. */
export function problemsOf(schema: z.core.$ZodType, value: unknown): Problem[] {
  const parsed = z.safeParse(schema, value, { error: wordsFor })
  const problems = new Map<string, Problem>()
  for (const issue of (parsed.error?.issues ?? []).flatMap(nearestOptionOf)) {
    // The last of several limits is the field's own, not the limit of all integers.
    problems.set(JSON.stringify([issue.code, fieldName(issue.path)]), {
      path: issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
      message: issue.message,
    })
    if (problems.size > PROBLEMS_LIMIT) break
  }
  return [...problems.values()].slice(0, PROBLEMS_LIMIT)
}

/** Returns the first problem as a sentence, or null if there is none. `whole` names the value itself. */
export function firstProblem(schema: z.core.$ZodType, value: unknown, whole = 'body'): string | null {
  const [first] = problemsOf(schema, value)
  return first === undefined ? null : problemText(first, whole)
}

const wordsFor: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be ${withArticle(issue.expected)}`
    case 'too_small':
      if (issue.origin === 'string' || issue.origin === 'array') {
        return issue.minimum === 1
          ? 'must not be empty'
          : `must have at least ${issue.minimum} ${unit(issue.origin)}`
      }
      return `must be at least ${issue.minimum}`
    case 'too_big':
      if (issue.origin === 'string' || issue.origin === 'array') {
        return `must have at most ${issue.maximum} ${unit(issue.origin)}`
      }
      return `must be at most ${issue.maximum}`
    case 'unrecognized_keys':
      return `has unknown fields: ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`
    default:
      return 'is not valid'
  }
}

/** Returns, for a body that has several forms, the problems of the form with the fewest, unless two are as near. */
function nearestOptionOf(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.path.length > 0) return [issue]
  const [nearest, next] = issue.errors.toSorted((a, b) => a.length - b.length)
  return nearest !== undefined && nearest.length < (next?.length ?? 0) ? nearest : [issue]
}

function withArticle(type: string): string {
  if (type === 'int') return 'an integer'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function unit(origin: string): string {
  return origin === 'string' ? 'characters' : 'entries'
}
