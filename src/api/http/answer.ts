import { z } from 'zod'

import { AppError, type ErrorCode, publicError } from '../../errors.ts'
import { apiSchema } from './app.ts'

/** One answer of a route, as the framework and the OpenAPI document take it. */
export type Answer<Schema extends z.ZodType, Type extends string = 'application/json'> = {
  description: string
  content: Record<Type, { schema: Schema }>
}

export function answer<Schema extends z.ZodType>(description: string, schema: Schema): Answer<Schema> {
  return { description, content: { 'application/json': { schema } } }
}

/** An answer that is a page of a site instead of JSON. */
export function pageAnswer(description: string): Answer<z.ZodString, 'text/html'> {
  return { description, content: { 'text/html': { schema: z.string() } } }
}

/** An answer that is text to be read, and nothing else. */
export function textAnswer(description: string): Answer<z.ZodString, 'text/plain'> {
  return { description, content: { 'text/plain': { schema: z.string() } } }
}

/** An answer that is a picture: bytes, of which the document says nothing more. */
export function pictureAnswer(description: string): Answer<z.ZodUnknown, 'image/webp'> {
  return { description, content: { 'image/webp': { schema: z.unknown() } } }
}

/** An answer that has only headers. */
export function emptyAnswer(description: string): z.ZodNull {
  return z.null().describe(description)
}

const errorSchema = apiSchema(
  'Error',
  z.object({
    error: z.string().describe('What is wrong, for people; these texts do not change'),
    current: z.int().optional().describe('With the site limit: domains that there are'),
    allowed: z.int().optional().describe('With the site limit: domains that the plan allows'),
  }),
)

type Refusals = Partial<Record<RefusalStatus, Answer<typeof errorSchema>>>
type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 503

/** Of every route that needs an API key. */
export const KEY_REFUSALS = [
  'api_key_required',
  'invalid_api_key',
  'plan_without_api',
  'account_suspended',
  'cross_site',
  'too_many_failures',
  'too_many_requests',
  'internal',
] as const

/** Of every route that needs somebody who is signed in. */
export const SESSION_REFUSALS = [
  'sign_in_required',
  'account_suspended',
  'cross_site',
  'too_many_requests',
  'internal',
] as const

/** Of every route for operators. */
export const OPERATOR_REFUSALS = [...SESSION_REFUSALS, 'operator_required'] as const

/** Of every route that reads a body. */
export const BODY_REFUSALS = ['invalid_json', 'malformed_request', 'body_too_large', 'content_type'] as const

/** The answers of a route to what it refuses, with their texts, taken from the one table of errors. */
export function refusals(...codes: readonly ErrorCode[]): Refusals {
  const texts = new Map<RefusalStatus, string[]>()
  for (const code of codes) {
    const { status, body } = publicError(
      new AppError(code, { word: code === 'invalid_field' ? '<field> ...' : '<reason>' }),
    )
    const known = texts.get(status as RefusalStatus) ?? []
    texts.set(status as RefusalStatus, [...known, `\`${body.error}\``])
  }
  return Object.fromEntries(
    [...texts].map(([status, words]) => [status, answer(words.join(', '), errorSchema)]),
  ) as Refusals
}
