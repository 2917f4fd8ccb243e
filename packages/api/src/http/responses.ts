import { errorSchema } from '@prepaint/contract/api/error.ts'
import { type ErrorCode, statusAndText } from '@prepaint/contract/errors.ts'
import { z } from 'zod'

/** A response of a route, as the framework and the OpenAPI document take it. */
export type ResponseContent<Schema extends z.ZodType, Type extends string = 'application/json'> = {
  description: string
  content: Record<Type, { schema: Schema }>
}

export function jsonResponse<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
): ResponseContent<Schema> {
  return { description, content: { 'application/json': { schema } } }
}

export function htmlResponse(description: string): ResponseContent<z.ZodString, 'text/html'> {
  return { description, content: { 'text/html': { schema: z.string() } } }
}

export function textResponse(description: string): ResponseContent<z.ZodString, 'text/plain'> {
  return { description, content: { 'text/plain': { schema: z.string() } } }
}

export function pictureResponse(description: string): ResponseContent<z.ZodUnknown, 'image/webp'> {
  return { description, content: { 'image/webp': { schema: z.unknown() } } }
}

/** A response without a body. */
export function emptyResponse(description: string): z.ZodNull {
  return z.null().describe(description)
}

/** The error responses for these codes, one for each status, with the texts from the table of errors. */
export function errorResponses(
  codes: Iterable<ErrorCode>,
): Record<number, ResponseContent<typeof errorSchema>> {
  const texts = new Map<number, string[]>()
  for (const code of codes) {
    const word = code === 'invalid_field' ? '<field> ...' : '<reason>'
    const { status, text } = statusAndText(code, word)
    texts.set(status, [...(texts.get(status) ?? []), `\`${text}\``])
  }
  return Object.fromEntries(
    [...texts].map(([status, each]) => [status, jsonResponse(each.join(', '), errorSchema)]),
  )
}
