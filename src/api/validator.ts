import type { FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'

import { AppError } from '../errors.ts'
import { firstProblem } from './field-words.ts'

/**
 * Checks what a request brings against the schema that also documents it. An
 * absent body counts as one without fields. Unknown fields are dropped.
 */
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
