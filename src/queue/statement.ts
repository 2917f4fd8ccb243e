import { readFileSync } from 'node:fs'
import path from 'node:path'

/** A query of `src/queue/sql/`, prepared once per connection under its file name. */
export type Statement = { name: string; text: string }

/** Call once at startup. */
export function readStatement(name: string): Statement {
  return {
    name: `queue-${name}`,
    text: readFileSync(path.join(import.meta.dirname, 'sql', `${name}.sql`), 'utf8'),
  }
}
