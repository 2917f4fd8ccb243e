import { AppError } from '@prepaint/contract/errors.ts'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'

/** Validates input against its schema. A missing body counts as `{}`. Unknown fields are dropped. */
export const checkAgainstSchema: FastifySchemaCompiler<z.core.$ZodType> = ({ schema, httpPart }) => {
  return (given: unknown) => {
    const data = httpPart === 'body' ? (given ?? {}) : given
    const parsed = z.safeParse(schema, data)
    if (parsed.success) return { value: parsed.data }
    return {
      error: new AppError('invalid_field', { word: firstProblem(schema, data) ?? 'body is not valid' }),
    }
  }
}

/** For routes that check their body by themselves. */
export const checkAllButBody: FastifySchemaCompiler<FastifySchema> = (part) =>
  part.httpPart === 'body' ? () => true : checkAgainstSchema(part as Parameters<typeof checkAgainstSchema>[0])

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

/** The first problem as a sentence that starts with the field or `whole`: `paths[3] must start with /`. */
export function firstProblem(schema: z.core.$ZodType, value: unknown, whole = 'body'): string | null {
  const parsed = z.safeParse(schema, value, { error: wordsFor })
  const [first, ...others] = (parsed.error?.issues ?? []).flatMap(ofNearestOption)
  if (first === undefined) return null
  // The last of several limits is the field's own, not the limit of all integers.
  const own = others.filter(
    ({ code, path }) => code === first.code && fieldName(path) === fieldName(first.path),
  )
  return `${fieldName(first.path) || whole} ${(own.at(-1) ?? first).message}`
}

/** Of a body that has several forms: the problems of the form with the fewest, unless two are as near. */
function ofNearestOption(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.path.length > 0) return [issue]
  const [nearest, next] = issue.errors.toSorted((a, b) => a.length - b.length)
  return nearest !== undefined && nearest.length < (next?.length ?? 0) ? nearest : [issue]
}

function fieldName(path: readonly PropertyKey[]): string {
  let name = ''
  for (const part of path) {
    if (typeof part === 'number') name += `[${part}]`
    else name += name === '' ? String(part) : `.${String(part)}`
  }
  return name
}

function withArticle(type: string): string {
  if (type === 'int') return 'an integer'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}

function unit(origin: string): string {
  return origin === 'string' ? 'characters' : 'entries'
}
