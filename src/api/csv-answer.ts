import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'

import type { Answer } from './answer.ts'

/** `format` of a query. */
export const formatParam = z
  .enum(['json', 'csv'])
  .optional()
  .describe('`csv`: as a file for spreadsheets. Absent: what `Accept` prefers, JSON where it does not say')

/** An answer that comes as JSON or as CSV. */
export function answerWithCsv<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
): Answer<Schema> & Answer<z.ZodString, 'text/csv'> {
  return { description, content: { 'application/json': { schema }, 'text/csv': { schema: z.string() } } }
}

/** What a request that takes both wants: what it says by `format`, else by `Accept` (RFC 9110, section 12.5.1). */
export function wantsCsv(request: FastifyRequest, format: 'json' | 'csv' | undefined): boolean {
  if (format !== undefined) return format === 'csv'
  const weights = new Map<string, number>()
  for (const part of (request.headers.accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...params] = part.split(';').map((text) => text.trim())
    const q = params.find((param) => param.startsWith('q='))
    weights.set(type, q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const weightOf = (type: string, group: string) =>
    weights.get(type) ?? weights.get(group) ?? weights.get('*/*') ?? 0
  return weightOf('text/csv', 'text/*') > weightOf('application/json', 'application/*')
}

/** Sends a file of that name. `name`: letters, digits, dots and hyphens; what else there is becomes a hyphen. */
export function sendCsv(reply: FastifyReply, name: string, text: string): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name.replace(/[^a-z0-9.-]+/gi, '-')}.csv"`)
    .send(text)
}
