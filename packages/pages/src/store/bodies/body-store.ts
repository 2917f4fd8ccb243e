import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import { type Stopwatch, systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { Turns } from '@prepaint/runtime/turns.ts'
import { S3Client, SOCKETS, type StoreOperation, StoreRefused, TransferFailed } from './s3-client.ts'
import { hostOf, type StoreAddress } from './store-address.ts'

/** Where the body of a row is. A page with a body in PostgreSQL has neither key nor sum. */
export type LocatedBody = { key: string; bytes: number; sum: Buffer }

/** What a row gets. `late`: it belongs into the store, which did not take it. */
export type NewBody = { at: 'row' } | { at: 'late' } | ({ at: 'store' } & LocatedBody)

export type BodySource = 'disk' | 'store' | 'database'

/** What is told of bodies that are read and written. */
export interface BodyMeter {
  request(operation: StoreOperation, seconds: number, isFailed: boolean): void
  read(from: BodySource): void
  missing(): void
}

export const NO_METER: BodyMeter = { request() {}, read() {}, missing() {} }

/** Bodies on this machine, in front of the store. */
export interface BodyDisk {
  get(key: string): Promise<Buffer | null>
  put(key: string, body: Buffer): void
  drop(key: string): void
  close(): Promise<void>
}

/** Shorter bodies stay in their rows. */
export const INLINE_BYTES = 2_048

const PUT_MS = 2_000
const GET_MS = 1_000
/** How long a condemned batch or the check of a command may take. */
export const DELETE_MS = 10_000
/** After a failure, nothing is asked of the store for this long. */
export const REST_MS = 2_000
/** No body is longer: a page has 16 MiB of HTML at most. */
const MOST_BYTES = 64 * 1024 * 1024
/** A key is reserved for this long, in which its object and its row are written. */
const RESERVED = `interval '1 minute'`
const RESERVED_AT_ONCE = 100
/** Together fewer than the client's sockets, so that none waits for one while its time runs. Ids and deletions have the others. */
const WRITES_AT_ONCE = 16
const READS_AT_ONCE = SOCKETS - WRITES_AT_ONCE - 4
/** If objects of so many domains fail one after the other, the store fails. */
const SEVERAL_DOMAINS = 3
/** Whether a row's body is in the store. A node of 0.2.0 may have put another one into the row, beside an older key. */
export const IS_STORED = 'body_br is null and body_key is not null'
/** Has the id of the store. */
export const STORE_OBJECT = 'prepaint-store'
/** After so long, the id is asked for again: another bucket may have taken the place of this one. */
const VERIFIED_MS = 60_000
const ID_LIMIT_BYTES = 200
const RESTS = 'the object store failed a moment ago'

/** Reserves keys if bodies go into the store. Returns no row as long as no store was admitted. */
const RESERVE = {
  name: 'body-reserve',
  text: `with store as (select direction from body_store),
              reserved as (
                insert into body_gone (key, at)
                select key, clock_timestamp() + ${RESERVED} from store, unnest($1::text[]) as key where direction = 'store')
         select direction from store`,
}

/**
 * Bodies of pages, in PostgreSQL or in an object store. A key is written once:
 *
 *     reserved --PUT--> reserved, its object is there --the row's statement--> of a row --the row goes--> condemned --sweep--> gone
 *         \--a minute passes: no row can get it any more--> condemned --sweep--> gone
 *
 * What fails is never lost: a body that the store does not take goes into its row. Without a store, all bodies do.
 */
export class BodyStore {
  readonly #db: Queryable
  readonly #log: Log
  readonly #meter: BodyMeter
  /** For sweeps and checks. Is null if bodies are in PostgreSQL. */
  readonly client: S3Client | null
  readonly #host: string
  readonly #disk: BodyDisk | null
  readonly #reserve: (key: string) => Promise<Direction | null>
  readonly #reads: Rest
  readonly #writes: Rest
  readonly #readTurns = new Turns(READS_AT_ONCE)
  readonly #writeTurns = new Turns(WRITES_AT_ONCE)
  readonly #outage: OutageLog
  readonly #stopwatch: Stopwatch
  /** Until then the store counts as the one that PostgreSQL names. */
  #verifiedUntilMs = Number.NEGATIVE_INFINITY
  #verifying: Promise<void> | null = null

  /** `db` is for reservations. `address` is null if bodies are in PostgreSQL. */
  constructor(
    address: StoreAddress | null,
    db: Queryable,
    log: Log,
    {
      meter = NO_METER,
      disk = null,
      stopwatch = systemStopwatch,
    }: { meter?: BodyMeter; disk?: BodyDisk | null; stopwatch?: Stopwatch } = {},
  ) {
    this.#db = db
    this.#log = log
    this.#meter = meter
    this.#disk = address === null ? null : disk
    this.#stopwatch = stopwatch
    this.#reads = new Rest(stopwatch)
    this.#writes = new Rest(stopwatch)
    this.#host = address === null ? '' : hostOf(address)
    this.client = address === null ? null : new S3Client(address, (...told) => meter.request(...told))
    this.#outage = new OutageLog(log, this.#host)
    this.#reserve = joined((keys: readonly string[]) => this.#reserveAll(keys), {
      most: RESERVED_AT_ONCE,
      underWay: 2,
    })
  }

  /** Bodies in PostgreSQL only: for tests, and for programs that measure. */
  static none(db: Queryable, log: Log): BodyStore {
    return new BodyStore(null, db, log)
  }

  get isOn(): boolean {
    return this.client !== null
  }

  async close(): Promise<void> {
    this.client?.close()
    await this.#disk?.close()
  }

  /**
   * Puts a body into the store, and says what its row gets. The statement that writes the row must delete the reservation
   * of the key, and must fail if there is none. Rejects only if PostgreSQL does.
   */
  async put(domain: DomainId, body: Buffer): Promise<NewBody> {
    if (this.client === null || body.length <= INLINE_BYTES) return { at: 'row' }
    if (this.#writes.isOn()) return { at: 'late' }
    const leave = await this.#writeTurns.enter(domain, PUT_MS)
    if (leave === null) return { at: 'late' }
    try {
      return await this.#putInTurn(this.client, domain, body)
    } finally {
      leave()
    }
  }

  async #putInTurn(client: S3Client, domain: DomainId, body: Buffer): Promise<NewBody> {
    if (!this.#writes.mayBegin()) return { at: 'late' }
    const key = `${domain}/${randomBytes(16).toString('hex')}`
    const direction = await this.#reserve(key)
    // It did not answer at the first start: packages/pages/src/store/bodies/upkeep.ts asks again.
    if (direction === null) return { at: 'late' }
    if (direction === 'database') return { at: 'row' }
    const digest = createHash('sha256').update(body).digest()
    try {
      await this.#verify()
      this.#writes.answered()
      await client.put(key, body, digest.toString('hex'), PUT_MS)
    } catch (error) {
      this.#failed(this.#writes, domain, error as Error)
      return { at: 'late' }
    }
    this.#writes.worked()
    this.#outage.worked()
    this.#disk?.put(key, body)
    return { at: 'store', key, bytes: body.length, sum: digest.subarray(0, 8) }
  }

  /** Condemns a key that was reserved and that no row got. Its object may still arrive. */
  async condemn(key: string): Promise<void> {
    await this.#db.query({
      name: 'body-condemn',
      text: 'insert into body_gone (key, at) values ($1, clock_timestamp()) on conflict (key) do nothing',
      values: [key],
    })
  }

  /** Counts a body that was read from its row. */
  noteRowRead(): void {
    this.#meter.read('database')
  }

  /**
   * Reads a body from this machine's disk or from the store. Returns null if the store has another one under this key, or
   * none. Rejects with BodyUnavailable if it cannot be asked now.
   */
  async read({ key, bytes, sum }: LocatedBody): Promise<Buffer | null> {
    const onDisk = (await this.#disk?.get(key)) ?? null
    if (onDisk !== null && isWhole(onDisk, { bytes, sum })) {
      this.#meter.read('disk')
      return onDisk
    }
    if (onDisk !== null) this.#disk?.drop(key)
    const body = await this.#get({ key, bytes, sum })
    if (body === null) return null
    this.#meter.read('store')
    this.#disk?.put(key, body)
    return body
  }

  /** Asks the store, and not the disk, whether it has a body. Also while it had failed a moment ago. */
  async inspect(located: LocatedBody): Promise<'read' | 'missing' | 'damaged' | 'failed'> {
    const { client } = this
    if (client === null) return 'failed'
    try {
      await this.#verify()
      const found = await this.#ask(client, located)
      return Buffer.isBuffer(found) ? 'read' : found
    } catch {
      return 'failed'
    }
  }

  /** A body was missing or damaged in the store, and its row is deleted. */
  noteMissing(key: string): void {
    this.#meter.missing()
    const text = 'the body of a page is missing or damaged in the object store; the page is rendered again'
    this.#log.warn({ key, host: this.#host }, text)
  }

  async #get(located: LocatedBody): Promise<Buffer | null> {
    const { client } = this
    if (client === null) throw new BodyUnavailable('PREPAINT_BODIES is not set')
    const domain = Number(located.key.slice(0, located.key.indexOf('/')))
    // What comes during a rest waits for nothing.
    if (this.#reads.isOn()) throw new BodyUnavailable(RESTS)
    const leave = await this.#readTurns.enter(domain, GET_MS)
    if (leave === null) throw new BodyUnavailable('too many bodies of this domain are read')
    try {
      if (!this.#reads.mayBegin()) throw new BodyUnavailable(RESTS)
      return await this.#getInTurn(client, domain, located)
    } finally {
      leave()
    }
  }

  async #getInTurn(client: S3Client, domain: number, located: LocatedBody): Promise<Buffer | null> {
    try {
      await this.#verify()
      // The store answers: if it had failed, others need not wait for this object.
      this.#reads.answered()
      const found = await this.#ask(client, located)
      this.#reads.worked()
      this.#outage.worked()
      return Buffer.isBuffer(found) ? found : null
    } catch (error) {
      this.#failed(this.#reads, domain, error as Error)
      throw new BodyUnavailable((error as Error).message, { cause: error })
    }
  }

  /** Rejects if it is unknown whether the store has the body. */
  async #ask(client: S3Client, { key, bytes, sum }: LocatedBody): Promise<Buffer | 'missing' | 'damaged'> {
    const body = await client.get(key, MOST_BYTES, GET_MS)
    if (body !== null && isWhole(body, { bytes, sum })) return body
    // The whole bucket may be another one by now, or a proxy gives a page of its own: then no row may be deleted.
    await this.#verifyNow()
    return body === null ? 'missing' : 'damaged'
  }

  /** Rejects unless the store is the one that PostgreSQL names. It is asked once a minute, and after each failure. */
  async #verify(): Promise<void> {
    if (this.#nowMs() < this.#verifiedUntilMs) return
    this.#verifying ??= this.#verifyNow().finally(() => {
      this.#verifying = null
    })
    await this.#verifying
  }

  async #verifyNow(): Promise<void> {
    this.#verifiedUntilMs = Number.NEGATIVE_INFINITY
    const [found, wanted] = await Promise.all([
      readStoreId(this.client!, GET_MS).catch((error: Error) => {
        throw new NotVerified(error.message, { cause: error })
      }),
      wantedStore(this.#db),
    ])
    if (wanted === null || found !== wanted.id) throw new NotVerified('another store')
    this.#verifiedUntilMs = this.#nowMs() + VERIFIED_MS
  }

  #failed(rest: Rest, domain: number, error: Error): void {
    const isOfObject = error instanceof TransferFailed || error instanceof StoreRefused
    if (!(error instanceof TransferFailed)) this.#verifiedUntilMs = Number.NEGATIVE_INFINITY
    if (isOfObject && !rest.objectFailed(domain)) return
    if (!isOfObject) rest.failed()
    this.#outage.failed(error)
  }

  #nowMs(): number {
    return this.#stopwatch() * 1_000
  }

  async #reserveAll(keys: readonly string[]): Promise<(Direction | null)[]> {
    const { rows } = await this.#db.query<{ direction: Direction }>({ ...RESERVE, values: [keys] })
    return keys.map(() => rows[0]?.direction ?? null)
  }
}

function isWhole(body: Buffer, { bytes, sum }: { bytes: number; sum: Buffer }): boolean {
  return body.length === bytes && createHash('sha256').update(body).digest().subarray(0, 8).equals(sum)
}

/** Returns the id in the store, or null if it has none. */
export async function readStoreId(client: S3Client, withinMs = PUT_MS): Promise<string | null> {
  const found = await client.get(STORE_OBJECT, ID_LIMIT_BYTES, withinMs)
  return found === null ? null : found.toString('utf8').trim()
}

export async function writeStoreId(client: S3Client): Promise<string> {
  const id = randomUUID()
  const body = Buffer.from(id)
  await client.put(STORE_OBJECT, body, createHash('sha256').update(body).digest('hex'), PUT_MS)
  return id
}

export type Direction = 'store' | 'database'

/** The store that has bodies of this database, or null if it never had one. */
export async function wantedStore(db: Queryable): Promise<{ id: string; direction: Direction } | null> {
  const { rows } = await db.query<{ id: string; direction: Direction }>(
    'select id, direction from body_store',
  )
  return rows[0] ?? null
}

/** Nobody knows whether the store is the one that PostgreSQL names. */
class NotVerified extends Error {
  override name = 'NotVerified'
}

/**
 * Lets nothing begin for two seconds after the store has failed; then one request tries, and the others go on waiting until the
 * store has answered it. An object that fails alone stops nothing: only those of several domains do, with none between that worked.
 */
class Rest {
  readonly #stopwatch: Stopwatch
  readonly #failedDomains = new Set<number>()
  #untilMs: number | null = null

  constructor(stopwatch: Stopwatch) {
    this.#stopwatch = stopwatch
  }

  isOn(): boolean {
    return this.#untilMs !== null && this.#nowMs() < this.#untilMs
  }

  mayBegin(): boolean {
    if (this.isOn()) return false
    if (this.#untilMs !== null) this.failed()
    return true
  }

  failed(): void {
    this.#untilMs = this.#nowMs() + REST_MS
  }

  /** Returns whether the store counts as failed. */
  objectFailed(domain: number): boolean {
    this.#failedDomains.add(domain)
    if (this.#failedDomains.size < SEVERAL_DOMAINS) return false
    this.failed()
    return true
  }

  answered(): void {
    if (this.#failedDomains.size < SEVERAL_DOMAINS) this.#untilMs = null
  }

  worked(): void {
    this.#failedDomains.clear()
    this.#untilMs = null
  }

  #nowMs(): number {
    return this.#stopwatch() * 1_000
  }
}

/** Logs an outage of the store once when it begins, and once when it ends. */
class OutageLog {
  readonly #log: Log
  readonly #host: string
  #sinceMs: number | null = null
  #failures = 0

  constructor(log: Log, host: string) {
    this.#log = log
    this.#host = host
  }

  failed({ message }: Error): void {
    this.#failures++
    if (this.#sinceMs !== null) return
    this.#sinceMs = nowMs()
    this.#log.warn({ host: this.#host, reason: message }, 'the object store of bodies does not work')
  }

  worked(): void {
    if (this.#sinceMs === null) return
    const seconds = Math.round((nowMs() - this.#sinceMs) / 1_000)
    this.#log.info(
      { host: this.#host, seconds, failures: this.#failures },
      'the object store of bodies works again',
    )
    this.#sinceMs = null
    this.#failures = 0
  }
}

function nowMs(): number {
  return systemStopwatch() * 1_000
}
