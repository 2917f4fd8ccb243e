import { text } from 'node:stream/consumers'
import { auditFile, EXPORT_FORMATS } from '@prepaint/api/account/audit-export.ts'
import { type AuditEntry, allEntries } from '@prepaint/postgres/audit'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { ACCOUNT_OPTIONS, accountNamed, parseChoiceOption, parseTimeOption } from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

const auditList = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    from: { value: 'ISO', text: 'only entries of this time or later, such as 2027-01-31' },
    to: { value: 'ISO', text: 'only entries before this time' },
    format: { value: 'F', text: 'csv or jsonl: print a file instead of a table' },
  },
  async run({ from: rawFrom, to: rawTo, format: rawFormat, ...named }, around) {
    const format = rawFormat === null ? null : parseChoiceOption('format', rawFormat, EXPORT_FORMATS)
    const from = rawFrom === null ? undefined : parseTimeOption('from', rawFrom)
    const to = rawTo === null ? undefined : parseTimeOption('to', rawTo)
    const entries = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      const found: AuditEntry[] = []
      for await (const part of allEntries(pool, id, { from, to })) found.push(...part)
      return found
    })
    return { json: { entries }, text: format === null ? entryTable(entries) : await fileOf(format, entries) }
  },
})

function entryTable(entries: readonly AuditEntry[]): string {
  const rows = entries.map(({ at, actor, action, domain, target }) => [
    at,
    actor.name,
    action,
    domain ?? '',
    target ?? '',
  ])
  return table(['at', 'actor', 'action', 'domain', 'target'], rows, 'Nothing was recorded.')
}

/** The text of a result gets its last line break when it is printed. */
async function fileOf(format: (typeof EXPORT_FORMATS)[number], entries: AuditEntry[]): Promise<string> {
  async function* parts() {
    yield entries
  }
  return (await text(auditFile(format, parts()))).replace(/\r?\n$/, '')
}

export const commands: Commands = { 'audit list': auditList }
