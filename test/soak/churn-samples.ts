import { readdirSync } from 'node:fs'
import type pg from 'pg'
import { type ProcessEntry, processTree, proportionalMemory } from '../support/processes.ts'

/** A node at one moment. */
export type ChurnSample = {
  atMs: number
  /** Of the node, its browsers and its PostgreSQL. */
  memoryBytes: number
  /** Of it: the node's own process, its PostgreSQL, and the rest, which is its browsers. */
  memory: { node: number; database: number; browsers: number }
  /** Of the node's own process. */
  files: number
  processes: number
  /** Of all tables with their indexes, and of each. */
  tablesBytes: number
  tables: Record<string, { bytes: number; live: number; dead: number }>
}

const TABLES = `
  select c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes,
         coalesce(s.n_live_tup, 0)::float8 as live, coalesce(s.n_dead_tup, 0)::float8 as dead
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_stat_user_tables s on s.relid = c.oid
   where c.relkind = 'r' and n.nspname = 'public'`

export async function sampleChurn(pid: number, pool: pg.Pool, atMs: number): Promise<ChurnSample> {
  const { rows } = await pool.query<{ name: string; bytes: number; live: number; dead: number }>(TABLES)
  const tree = processTree(pid)
  const memory = { node: 0, database: 0, browsers: 0 }
  for (const process of tree) memory[partOf(process, pid)] += proportionalMemory(process.pid)
  return {
    atMs,
    memoryBytes: memory.node + memory.database + memory.browsers,
    memory,
    files: readdirSync(`/proc/${pid}/fd`).length,
    processes: tree.length,
    tablesBytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
    tables: Object.fromEntries(rows.map(({ name, ...size }) => [name, size])),
  }
}

function partOf(process: ProcessEntry, node: number): 'node' | 'database' | 'browsers' {
  if (process.pid === node) return 'node'
  return process.command.startsWith('postgres:') || process.command.includes('/bin/postgres ')
    ? 'database'
    : 'browsers'
}
