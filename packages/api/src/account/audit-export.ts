import type { AuditEntryView } from '@prepaint/contract/api/audit.ts'
import { type CsvCell, csvRows, csvText } from '../http/csv.ts'

export const EXPORT_FORMATS = ['csv', 'jsonl'] as const

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

const CSV_COLUMNS = [
  ...['id', 'at', 'actor_kind', 'actor', 'way', 'address', 'user_agent'],
  ...['action', 'domain', 'target', 'details', 'request_id'],
]

/** Writes the audit log as a file, a piece for each part of `parts`. */
export async function* auditFile(
  format: ExportFormat,
  parts: AsyncIterable<readonly AuditEntryView[]>,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvText(CSV_COLUMNS, [])
  for await (const entries of parts) {
    if (format === 'csv') yield csvRows(entries.map(csvRow))
    else yield entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  }
}

function csvRow({ id, at, actor, ...entry }: AuditEntryView): CsvCell[] {
  const { way, address, user_agent, action, domain, target, details, request_id } = entry
  return [
    id,
    at,
    actor.kind,
    actor.name,
    way,
    address,
    user_agent,
    action,
    domain,
    target,
    JSON.stringify(details),
    request_id,
  ]
}
