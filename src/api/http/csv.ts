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

export type CsvCell = string | number | null

/**
 * RFC 4180: a line of names, then one line each, ended by CRLF. Text that a
 * spreadsheet would run as a formula is led by an apostrophe, which it shows
 * as text: paths and names come from strangers.
 */
export function csvText(names: readonly string[], rows: Iterable<readonly CsvCell[]>): string {
  let text = line(names)
  for (const row of rows) text += line(row)
  return text
}

function line(cells: readonly CsvCell[]): string {
  return `${cells.map(cell).join()}\r\n`
}

function cell(value: CsvCell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const harmless = (FORMULA.test(value) ? `'${value}` : value).replace(FORMULA_BEHIND, "$1'")
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** What spreadsheets take for a formula's beginning, also the wide forms of the same signs. */
const FORMULA = /^[\s]*[=+\-@\t\r\n＝＋－＠|%]/
/** In half of Europe a spreadsheet begins a cell behind each semicolon, quotes or not. */
const FORMULA_BEHIND = /([;\t]["'\s]*)(?=[=+\-@＝＋－＠|%])/g
