import { readFileSync } from 'node:fs'
import path from 'node:path'

export type Statement = { name: string; text: string }

/** Prepared once per connection under its file name. Call once at startup. */
export function readStatement(name: string): Statement {
  return {
    name: `queue-${name}`,
    text: readFileSync(path.join(import.meta.dirname, 'sql', `${name}.sql`), 'utf8'),
  }
}
