import { Readable } from 'node:stream'
import {
  auditEntrySchema,
  auditQuery,
  LISTED_ENTRIES,
  listAuditAnswer,
} from '@prepaint/contract/api/audit.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type AuditFilter, allEntries, listEntries, record } from '@prepaint/postgres/audit'
import { transaction } from '@prepaint/postgres/transaction.ts'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { accountRoutes } from '../http/routes.ts'
import { auditFile, type ExportFormat } from './audit-export.ts'

const DEFAULT_LIMIT = 100

const response = {
  200: {
    description: 'The entries; `csv` and `jsonl` have all that match',
    content: {
      'application/json': { schema: listAuditAnswer },
      'text/csv': { schema: z.string() },
      'application/x-ndjson': { schema: z.string() },
    },
  },
}

export function audit(app: ApiApp, { pool }: ApiParts): void {
  accountRoutes(app, 'Audit log')('GET', '/api/audit', 'listAudit', {
    summary: 'Who changed what in the account, newest first',
    description:
      'Reads, refreshes and renders are not recorded. Entries cannot be changed or deleted; the operator chooses how long they are kept (400 days by default). An export is recorded.',
    heaviness: 'read',
    query: auditQuery,
    response,
    handler: async ({ account }, { query }, reply) => {
      const { action, actor, domain, format = 'json' } = query
      const filter: AuditFilter = { from: timeOf(query.from), to: timeOf(query.to), action, actor, domain }
      if (format !== 'json') return exportEntries(reply, account, filter, format)
      const limit = Math.min(Number(query.limit ?? DEFAULT_LIMIT), LISTED_ENTRIES)
      const before = query.after === undefined ? null : Number(query.after)
      const entries = await listEntries(pool, account, filter, { limit: limit + 1, before })
      const shown = entries.slice(0, limit)
      const next = entries.length > limit ? shown.at(-1)!.id : null
      return { entries: shown.map((entry) => auditEntrySchema.parse(entry)), next }
    },
  })

  async function exportEntries(
    reply: FastifyReply,
    account: AccountId,
    filter: AuditFilter,
    format: ExportFormat,
  ): Promise<FastifyReply> {
    await transaction(pool, (client) =>
      record(client, { account, action: 'audit.exported', target: format, details: { format, ...filter } }),
    )
    const entries = app.heavyWork.each(account, allEntries(pool, account, filter))
    return reply
      .type(format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson')
      .header('Content-Disposition', `attachment; filename="audit-log.${format}"`)
      .send(Readable.from(auditFile(format, entries), { objectMode: false }))
  }
}

function timeOf(raw: string | undefined): Date | undefined {
  return raw === undefined ? undefined : new Date(raw)
}
