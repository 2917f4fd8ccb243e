import { AppError } from '@prepaint/contract/errors.ts'
import { problemText } from '@prepaint/contract/problem.ts'
import { problemsOf } from '@prepaint/contract/validation.ts'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'

/** Validates input against its schema. A missing body counts as `{}`. Unknown fields are dropped. */
export const checkAgainstSchema: FastifySchemaCompiler<z.core.$ZodType> = ({ schema, httpPart }) => {
  return (given: unknown) => {
    const data = httpPart === 'body' ? (given ?? {}) : given
    const parsed = z.safeParse(schema, data)
    if (parsed.success) return { value: parsed.data }
    const problems = problemsOf(schema, data)
    const [first = { path: [], message: 'is not valid' }] = problems
    return { error: new AppError('invalid_field', { word: problemText(first), problems }) }
  }
}

/** Keeps the framework from loading its compilers of JSON schemas, 110 modules. Set others before the first route. */
export const NO_COMPILERS = { buildValidator: refuseToBuild, buildSerializer: refuseToBuild }

function refuseToBuild(): never {
  throw new Error('A compiler of schemas was not set before the first route')
}

/** Leaves the body to routes that check it by themselves. */
export const checkAllButBody: FastifySchemaCompiler<FastifySchema> = (part) => {
  if (part.httpPart === 'body') return () => true
  return checkAgainstSchema(part as Parameters<typeof checkAgainstSchema>[0])
}
