import { readFileSync } from 'node:fs'
import path from 'node:path'

/** A query of `src/queue/sql/`, prepared once for each connection under its file's name. */
export type Statement = { name: string; text: string }

/** Reads `sql/<name>.sql`. For the create functions: once for each, at start. */
export function readStatement(name: string): Statement {
  return {
    name: `queue-${name}`,
    text: readFileSync(path.join(import.meta.dirname, 'sql', `${name}.sql`), 'utf8'),
  }
}
