import { setTimeout as sleep } from 'node:timers/promises'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { type PageVariant, pageId } from '@prepaint/contract/page/page-id.ts'
import { retried } from '@prepaint/postgres/transaction.ts'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { deletePageWithBody } from '../purge.ts'
import { type BodyStore, type Direction, INLINE_BYTES, type LocatedBody, REST_MS } from './body-store.ts'
import { countStored } from './check.ts'

/** The two tables whose rows have bodies, and what names a row. */
const TABLES = {
  page: { id: ['domain_id', 'path', 'variant'] },
  page_form: { id: ['domain_id', 'path', 'variant', 'form'] },
} as const

type Table = keyof typeof TABLES
const NAMES = Object.keys(TABLES) as Table[]

type RowId = { domain_id: DomainId; path: string; variant: PageVariant | ''; form: string }

const BATCH = 100
const AT_ONCE = 16
/** So many bytes of bodies are held at once; one body may be longer. */
const HELD_BYTES = 32 * 1024 * 1024
const START: RowId = { domain_id: 0 as DomainId, path: '', variant: '', form: '' }

export type Moved = { moved: number; left: number; failed: number }

/** Sets where nodes put new bodies. Each asks with its next body. */
export async function setDirection(pool: pg.Pool, direction: Direction): Promise<void> {
  await pool.query('update body_store set direction = $1', [direction])
}

const IS_INLINE = `body_br is not null and octet_length(body_br) > ${INLINE_BYTES}`
/** What a move looks at. A key beside a body in the row, which a node of 0.2.0 has left, goes either way. */
const IS_MOVED = {
  store: `(${IS_INLINE} or body_br is not null and body_key is not null)`,
  database: 'body_key is not null',
} as const satisfies Record<Direction, string>

/** Spreads moves over time. */
class Pace {
  readonly #everyMs: number
  #nextMs = 0

  constructor(perSecond: number) {
    this.#everyMs = 1_000 / perSecond
  }

  async next(): Promise<void> {
    const nowMs = systemStopwatch() * 1_000
    this.#nextMs = Math.max(nowMs, this.#nextMs) + this.#everyMs
    const waitMs = this.#nextMs - this.#everyMs - nowMs
    if (waitMs >= 1) await sleep(waitMs)
  }
}

/** Bodies that are held in memory at once. */
class HeldBytes {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #held = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Runs `work` when there is room for so many bytes; a body that is longer than all of the room, alone. */
  async while<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    while (this.#held > 0 && this.#held + bytes > this.#most) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#held += bytes
    try {
      return await work()
    } finally {
      this.#held -= bytes
      for (const look of this.#waiting.splice(0)) look()
    }
  }
}

type MoveOptions = { perSecond: number; signal?: AbortSignal; heldBytes?: number }

/**
 * Moves all bodies one way, beside running nodes. What is moved stays moved, so it resumes. Returns how many rows were moved,
 * how many have their body on the old side still, and how many of them failed: if the store does not answer twice, all.
 */
export async function moveBodies(
  pool: pg.Pool,
  bodies: BodyStore,
  to: Direction,
  { perSecond, signal, heldBytes = HELD_BYTES }: MoveOptions,
): Promise<Moved> {
  const held = new HeldBytes(heldBytes)
  const pace = new Pace(perSecond)
  const total: Moved = { moved: 0, left: 0, failed: 0 }
  const move = to === 'store' ? moveIn : moveOut
  let isUnanswered = false
  for (const table of NAMES) {
    let after = START
    while (signal?.aborted !== true && !isUnanswered) {
      const rows = await readBatch(pool, table, IS_MOVED[to], after)
      const last = rows.at(-1)
      if (last === undefined) break
      after = last
      for (let at = 0; at < rows.length; at += AT_ONCE) {
        const group = rows.slice(at, at + AT_ONCE)
        const results = await Promise.all(
          group.map(async (row) => {
            await pace.next()
            const result = await held.while(bytesOf(row), () => move(pool, bodies, table, row))
            if (result !== 'failed') return result
            await sleep(REST_MS)
            return held.while(bytesOf(row), () => move(pool, bodies, table, row))
          }),
        )
        total.moved += results.filter((result) => result === 'moved').length
        isUnanswered = results.includes('failed')
        if (isUnanswered) break
      }
    }
  }
  total.left = to === 'store' ? await countInline(pool) : await countStored(pool)
  if (isUnanswered) total.failed = total.left
  return total
}

/** Moves bodies that the store did not take. Stops at the first that fails again. */
export async function moveLate(pool: pg.Pool, bodies: BodyStore, signal: AbortSignal): Promise<Moved> {
  const total: Moved = { moved: 0, left: 0, failed: 0 }
  const held = new HeldBytes(HELD_BYTES)
  for (const table of NAMES) {
    while (!signal.aborted && total.failed === 0) {
      const { rows } = await pool.query<MovedRow>(
        `select ${columnsOf(table)} from ${table} where body_late_at is not null order by body_late_at limit ${AT_ONCE}`,
      )
      if (rows.length === 0) break
      const results = await Promise.all(
        rows.map((row) => held.while(bytesOf(row), () => moveIn(pool, bodies, table, row))),
      )
      total.moved += results.filter((result) => result === 'moved').length
      total.failed += results.filter((result) => result === 'failed').length
    }
  }
  return total
}

/** A row without its body. */
type MovedRow = RowId & {
  etag: string
  /** Of the body in the row; null: it has none. */
  inline_bytes: number | null
  body_key: string | null
  body_bytes: number | null
  body_sum: Buffer | null
}

function columnsOf(table: Table): string {
  const form = table === 'page' ? `'' as form` : 'form'
  return `domain_id, path, variant, ${form}, etag, octet_length(body_br) as inline_bytes, body_key, body_bytes, body_sum`
}

function bytesOf({ inline_bytes: inline, body_bytes: stored }: MovedRow): number {
  return Math.max(inline ?? 0, stored ?? 0)
}

async function readBatch(pool: pg.Pool, table: Table, condition: string, after: RowId): Promise<MovedRow[]> {
  const { id } = TABLES[table]
  const values: unknown[] = id.map((column) => after[column])
  const { rows } = await pool.query<MovedRow>(
    `select ${columnsOf(table)} from ${table}
      where (${id.join(', ')}) > (${id.map((_, at) => `$${at + 1}`).join(', ')}) and ${condition}
      order by ${id.join(', ')} limit ${BATCH}`,
    values,
  )
  return rows
}

type MoveResult = 'moved' | 'changed' | 'failed'

function namesRow(table: Table, row: RowId, first: number): { where: string; values: unknown[] } {
  const { id } = TABLES[table]
  return {
    where: id.map((column, at) => `${column} = $${first + at}`).join(' and '),
    values: id.map((column) => row[column]),
  }
}

/** Puts the body of a row into the store. A row that has another body by now keeps that one, and the object is condemned. */
async function moveIn(pool: pg.Pool, bodies: BodyStore, table: Table, row: MovedRow): Promise<MoveResult> {
  const { where, values } = namesRow(table, row, 3)
  const { rows } = await pool.query<{ body_br: Buffer }>(
    `select body_br from ${table}
      where ${where} and etag = $1 and body_key is not distinct from $2 and body_br is not null`,
    [row.etag, row.body_key, ...values],
  )
  if (rows[0] === undefined) return 'changed'
  const body = await bodies.put(row.domain_id, rows[0].body_br)
  if (body.at === 'late') return 'failed'
  if (body.at === 'row') {
    // It is short, or nodes put bodies into PostgreSQL: it does not wait for the store any more.
    await pool.query(
      `update ${table} set body_late_at = null, body_key = null, body_bytes = null, body_sum = null, body_foreign = false
        where ${where} and etag = $1 and body_key is not distinct from $2 and body_br is not null`,
      [row.etag, row.body_key, ...values],
    )
    return 'changed'
  }
  const { where: named, values: names } = namesRow(table, row, 6)
  const { rowCount } = await pool.query(
    `with reserved as materialized (
       select key from body_gone where key = $3 and at > clock_timestamp() for update
     ), moved as (
       update ${table} set body_br = null, body_key = $3, body_bytes = $4, body_sum = $5, body_foreign = false, body_late_at = null
        where ${named} and etag = $1 and body_key is not distinct from $2 and body_br is not null
          and exists (select from reserved)
       returning body_key
     )
     delete from body_gone using moved where body_gone.key = moved.body_key`,
    [row.etag, row.body_key, body.key, body.bytes, body.sum, ...names],
  )
  if (rowCount === 1) return 'moved'
  await bodies.condemn(body.key)
  return 'changed'
}

/** Puts the body of a row into PostgreSQL. Its trigger condemns the key. */
async function moveOut(pool: pg.Pool, bodies: BodyStore, table: Table, row: MovedRow): Promise<MoveResult> {
  const { body_key: key, body_bytes: bytes, body_sum: sum } = row
  if (key === null || bytes === null || sum === null) return 'changed'
  const { where, values } = namesRow(table, row, 3)
  const takeKey = `body_key = null, body_bytes = null, body_sum = null, body_foreign = false`
  if (row.inline_bytes !== null) {
    await pool.query(
      `update ${table} set ${takeKey} where ${where} and etag = $1 and body_key = $2 and body_br is not null`,
      [row.etag, key, ...values],
    )
    return 'changed'
  }
  let body: Buffer | null
  try {
    body = await bodies.read({ key, bytes, sum } satisfies LocatedBody)
  } catch {
    return 'failed'
  }
  if (body === null) {
    await deleteBodiless(pool, table, row, key)
    return 'changed'
  }
  const { rowCount } = await pool.query(
    `update ${table} set body_br = $1, ${takeKey} where ${where} and body_key = $2 and body_br is null`,
    [body, key, ...values],
  )
  return rowCount === 1 ? 'moved' : 'changed'
}

/** The store has lost the body: its page is rendered again. */
async function deleteBodiless(pool: pg.Pool, table: Table, row: MovedRow, key: string): Promise<void> {
  if (table === 'page') {
    await deletePageWithBody(pool, pageId(row.domain_id, row.path as PagePath, row.variant || 'desktop'), key)
    return
  }
  const { where, values } = namesRow(table, row, 2)
  await pool.query(`delete from page_form where ${where} and body_key = $1 and body_br is null`, [
    key,
    ...values,
  ])
}

/**
 * Makes the keys own that another database may have had: from now on their objects are deleted when their pages change. Returns
 * how many there were.
 */
export async function adoptBodies(pool: pg.Pool): Promise<number> {
  let adopted = 0
  for (const table of NAMES) {
    const { rows } = await pool.query<{ domain_id: DomainId }>(
      `select distinct domain_id from ${table} where body_foreign order by 1`,
    )
    for (const { domain_id: domain } of rows) {
      const { rowCount } = await retried(() =>
        pool.query(`update ${table} set body_foreign = false where domain_id = $1 and body_foreign`, [
          domain,
        ]),
      )
      adopted += rowCount ?? 0
    }
  }
  return adopted
}

/** Counts the bodies in rows, those of forms included, that are longer than those that stay there. Reads both tables whole. */
export async function countInline(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    `select (select count(*) from page where ${IS_INLINE}) + (select count(*) from page_form where ${IS_INLINE}) as count`,
  )
  return Number(rows[0]!.count)
}

const RESERVED_POLL_MS = 500

/** Waits until no object is being written: keys are reserved for a minute at most. */
export async function waitForReserved(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query('select from body_gone where at > clock_timestamp() limit 1')
    if (rowCount === 0) return
    await sleep(RESERVED_POLL_MS)
  }
}
