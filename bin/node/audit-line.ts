import type { AccountId } from '@prepaint/contract/ids.ts'
import type { AuditEntry } from '@prepaint/postgres/audit'

/** Prints an entry of the audit log as a line of JSON on stderr, also at a terminal: it is for a log store. */
export function printAuditLine(account: AccountId, entry: AuditEntry): void {
  process.stderr.write(`${JSON.stringify({ event: 'audit', account, ...entry })}\n`)
}
