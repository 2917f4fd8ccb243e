/** Loaded into a node by bench/idle.ts: counts its statements by kind, and writes the counts to a file every second. */
import { writeFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import pg from 'pg'

const file = process.env['BENCH_STATEMENTS']
const counts = new Map<string, number>()

if (file !== undefined && isMainThread) {
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const kind = kindOf(args[0])
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return query.apply(this, args)
  } as typeof pg.Client.prototype.query
  setInterval(() => writeFileSync(file, JSON.stringify([...counts])), 1_000).unref()
}

/** The name of a prepared statement, or the beginning of the text. */
function kindOf(statement: unknown): string {
  if (typeof statement === 'string') return statement.replace(/\s+/g, ' ').trim().slice(0, 70)
  const { name, text = '' } = (statement ?? {}) as { name?: string; text?: string }
  return name ?? text.replace(/\s+/g, ' ').trim().slice(0, 70)
}
