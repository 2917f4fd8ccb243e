import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openDatabase } from '@prepaint/postgres/database.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../bin/node/schema.ts'
import { SMALL_BYTES } from './edge-nginx.ts'

/** A statement may take 30 s. */
const FILL_STEP = 1_000

export type Store = {
  /** For DATABASE_URL. */
  url: string
  fill(domains: number, pages: number): Promise<void>
  pids(): Promise<number[]>
  close(): Promise<void>
}

export async function openStore(): Promise<Store> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'prepaint-bench-'))
  // As root, PostgreSQL runs as another user.
  await chmod(dataDir, 0o711)
  const database = await openDatabase({ databaseUrl: null, dataDir, log: silentLog() })
  const { pool, connection } = database
  await migrate(connection, SCHEMA, silentLog())
  await pool.query(`insert into account (email, plan) values ('bench@example.com', 'enterprise')`)

  async function fill(domains: number, pages: number): Promise<void> {
    await pool.query(
      `insert into domain (account_id, custom_domain, origin_url)
       select account.id, 'd' || n || '.example', 'http://127.0.0.1:9' from account, generate_series(1, $1::integer) n
       on conflict do nothing`,
      [domains],
    )
    const { rows } = await pool.query<{ id: number }>('select id from domain order by id')
    for (let at = 0; at < domains; at += FILL_STEP) {
      const ids = rows.slice(at, Math.min(at + FILL_STEP, domains)).map(({ id }) => id)
      await pool.query(
        `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
         select d, '/p' || n, 200, '[["Content-Type", "text/html"]]', $3::bytea, 2000, 'x', now()
         from unnest($1::integer[]) d, generate_series(1, $2::integer) n on conflict do nothing`,
        [ids, pages, Buffer.alloc(SMALL_BYTES, 'x')],
      )
    }
    await pool.query('vacuum analyze page')
  }

  async function pids(): Promise<number[]> {
    const { rows } = await pool.query<{ pid: number }>(
      `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    )
    return rows.map(({ pid }) => pid).filter(isThere)
  }

  async function close(): Promise<void> {
    await database.close()
    await rm(dataDir, { recursive: true })
  }

  const { host, port, user, database: name } = connection
  // A node takes a socket's directory as a parameter.
  const url = `postgres:///${name}?host=${host}&port=${port}&user=${user}`
  return { url, fill, pids, close }
}

function isThere(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8') !== ''
  } catch {
    return false
  }
}
