import { createHash, randomBytes } from 'node:crypto'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { IS_STORED, readStoreId, wantedStore, writeStoreId } from './body-store.ts'
import { S3Client, StoreRefused, StoreUnreachable } from './s3-client.ts'
import { hostOf, type StoreAddress } from './store-address.ts'

/** The store or the database refuses this setting. The message is for the operator, and names no secret. */
export class BodiesRefused extends Error {
  override name = 'BodiesRefused'
}

const CHECK_MS = 2_000
const CHECK_BYTES = 32

/**
 * Puts an object, reads it and deletes it. Throws BodiesRefused if the store refuses, and StoreUnreachable if it does not
 * answer.
 */
export async function checkStore(client: S3Client, address: StoreAddress): Promise<void> {
  const object = `prepaint-check-${randomBytes(8).toString('hex')}`
  const body = randomBytes(CHECK_BYTES)
  try {
    await client.put(object, body, createHash('sha256').update(body).digest('hex'), CHECK_MS)
    const found = await client.get(object, CHECK_BYTES, CHECK_MS)
    if (found === null || !found.equals(body)) {
      throw new BodiesRefused(`PREPAINT_BODIES: ${hostOf(address)} does not give back what was put there.`)
    }
    const failed = await client.deleteAll([object], CHECK_MS)
    if (failed.size > 0)
      throw new BodiesRefused(`PREPAINT_BODIES: ${hostOf(address)} does not delete objects.`)
  } catch (error) {
    throw explained(error, address)
  }
}

function explained(error: unknown, address: StoreAddress): unknown {
  if (!(error instanceof StoreRefused)) return error
  const { status, code } = error
  const host = hostOf(address)
  if (status === 403 || status === 401) {
    const why = code === '' ? `${status}` : `${status} ${code}`
    return new BodiesRefused(
      `PREPAINT_BODIES: ${host} refuses the key (${why}): check key, secret and clock.`,
      { cause: error },
    )
  }
  if (status === 404) {
    return new BodiesRefused(`PREPAINT_BODIES: ${host} has no bucket "${address.bucket}".`, { cause: error })
  }
  return new BodiesRefused(
    `PREPAINT_BODIES: ${host} refuses requests (${error.message}): check host, region and style.`,
    { cause: error },
  )
}

/** Counts the bodies in the store, those of forms included. */
export async function countStored(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: string }>(
    `select (select count(*) from page where ${IS_STORED}) + (select count(*) from page_form where ${IS_STORED}) as count`,
  )
  return Number(rows[0]!.count)
}

/** Counts the bodies in the store that another database may own: they are read, and never deleted. */
export async function countForeign(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: string }>(
    `select (select count(*) from page where ${IS_STORED} and body_foreign)
          + (select count(*) from page_form where ${IS_STORED} and body_foreign) as count`,
  )
  return Number(rows[0]!.count)
}

async function hasStored(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ has_stored: boolean }>(
    `select exists (select from page where ${IS_STORED}) or exists (select from page_form where ${IS_STORED}) as has_stored`,
  )
  return rows[0]!.has_stored
}

const ADMISSION_LOCK = 7_226_411_029

/**
 * Compares the id in the store with that in PostgreSQL, and makes one where neither has bodies yet: of nodes that start together,
 * one after the other. Throws BodiesRefused if rows have bodies in another store.
 */
export async function admitStore(pool: pg.Pool, client: S3Client): Promise<void> {
  const [found, wanted] = await Promise.all([readStoreId(client), wantedStore(pool)])
  if (found !== null && found === wanted?.id) return
  await transaction(pool, async (db) => {
    await db.query('select pg_advisory_xact_lock($1)', [ADMISSION_LOCK])
    await admitNext(db, client)
  })
}

async function admitNext(db: Queryable, client: S3Client): Promise<void> {
  const found = await readStoreId(client)
  const wanted = await wantedStore(db)
  if (found !== null && found === wanted?.id) return
  if (await hasStored(db)) throw await anotherStore(db)
  const id = found ?? (await writeStoreId(client))
  await db.query(
    `insert into body_store (id) values ($1) on conflict (is_only) do update set id = excluded.id`,
    [id],
  )
  // What was condemned was so in the other store.
  if (wanted !== null) await db.query('delete from body_gone')
}

/** Throws BodiesRefused if the store is not that of this database, and StoreUnreachable if it does not answer. */
export async function requireStore(db: Queryable, client: S3Client): Promise<void> {
  let found: string | null
  try {
    found = await readStoreId(client)
  } catch (error) {
    throw explained(error, client.address)
  }
  const wanted = await wantedStore(db)
  if (wanted !== null && found !== wanted.id) throw await anotherStore(db)
}

async function anotherStore(db: Queryable): Promise<BodiesRefused> {
  const count = await countStored(db)
  return new BodiesRefused(
    `PREPAINT_BODIES leads to another store than the one that holds ${count} bodies: set it back, or move the bodies first (prepaint bodies move).`,
  )
}

type Found = {
  /** For a person: what is unusual and no error. */
  warnings: string[]
}

/**
 * Checks the setting against the store and the database, as each start does. Throws BodiesRefused if nodes must not start with
 * it. A store that does not answer is a warning.
 */
export async function checkBodies(pool: pg.Pool, address: StoreAddress | null): Promise<Found> {
  if (address === null) return checkWithoutStore(pool)
  const warnings: string[] = []
  const client = new S3Client(address)
  try {
    await checkStore(client, address)
    await admitStore(pool, client).catch((error: unknown) => {
      throw explained(error, address)
    })
  } catch (error) {
    if (!(error instanceof StoreUnreachable)) throw error
    warnings.push(
      `PREPAINT_BODIES: ${hostOf(address)} does not answer (${error.message}): bodies go into PostgreSQL until it does.`,
    )
  } finally {
    client.close()
  }
  if ((await wantedStore(pool))?.direction === 'database') {
    warnings.push(
      'Bodies go into PostgreSQL, as "prepaint bodies move --to database" has set, until "prepaint bodies move --to store".',
    )
  }
  return { warnings }
}

async function checkWithoutStore(db: Queryable): Promise<Found> {
  if (await hasStored(db)) {
    const count = await countStored(db)
    throw new BodiesRefused(
      `${count} bodies are in an object store: set PREPAINT_BODIES, or move them with "prepaint bodies move --to database".`,
    )
  }
  const { rows } = await db.query<{ condemned: number }>(
    'select count(*)::integer as condemned from body_gone',
  )
  const { condemned } = rows[0]!
  if (condemned === 0) return { warnings: [] }
  return {
    warnings: [
      `${condemned} objects in the object store wait to be deleted, and PREPAINT_BODIES is not set: set it for "prepaint bodies sweep".`,
    ],
  }
}
