import { mediaTypeWeight, parseAccept } from '@prepaint/runtime/http/accept.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { ResponseContent } from './responses.ts'

export function csvResponse<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
): ResponseContent<Schema> & ResponseContent<z.ZodString, 'text/csv'> {
  return { description, content: { 'application/json': { schema }, 'text/csv': { schema: z.string() } } }
}

/** Chooses by `format`, then by `Accept` (RFC 9110, section 12.5.1). */
export function wantsCsv(request: FastifyRequest, format: 'json' | 'csv' | undefined): boolean {
  if (format !== undefined) return format === 'csv'
  const accepted = parseAccept(request.headers.accept ?? '')
  return mediaTypeWeight(accepted, 'text/csv') > mediaTypeWeight(accepted, 'application/json')
}

/** Other characters in `name` than letters, digits, dots and hyphens become hyphens. */
export function sendCsv(reply: FastifyReply, name: string, text: string): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="${name.replace(/[^a-z0-9.-]+/gi, '-')}.csv"`)
    .send(text)
}

export type CsvCell = string | number | null

/** RFC 4180. Text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function csvText(names: readonly string[], rows: Iterable<readonly CsvCell[]>): string {
  return line(names) + csvRows(rows)
}

/** As `csvText`, without the names: for tables that are sent in pieces. */
export function csvRows(rows: Iterable<readonly CsvCell[]>): string {
  let text = ''
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

const FORMULA = /^[\s]*[=+\-@\t\r\n＝＋－＠|%]/
/** In some locales a semicolon starts a new cell, even inside quotes. */
const FORMULA_BEHIND = /([;\t]["'\s]*)(?=[=+\-@＝＋－＠|%])/g
