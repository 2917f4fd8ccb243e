import { constants, readFile, utimes } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Clock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type { BodyDisk } from './body-store.ts'

const read = promisify(readFile)

/** In the data directory. */
const BODIES_DIR = 'bodies'
const FOLDERS = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'))
const FILE = /^[0-9a-f]{32}$/
/** A full disk is tried again after this time. */
const REST_MS = 60_000
const HOUR_MS = 60 * 60_000
/**
 * A body that no page has been answered with from disk for so long is deleted: its page may be deleted, which nothing tells. Its bytes
 * are gone an hour later at the latest, within the 24 hours that docs/operations.md promises.
 */
const KEPT_MS = 22 * HOUR_MS
/** Files are looked at so often, and their times of use are written at most so often. */
const LOOK_EVERY_MS = HOUR_MS
/** More bodies at once are not kept. */
const MOST_WRITES = 64
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/** Which of the processes of an edge this one is, from 0 on. Each keeps the bodies of its own folders, and reads all. */
type Process = { at: number; of: number }

/** `usedMs`: when it was written or read, by the clock of this machine. */
type File = { bytes: number; usedMs: number }

/**
 * Bodies on this machine's disk, in front of the object store. Each is a file that is named by its key and never changes: the row
 * decides which key a page has, so nothing is invalidated. The least recently used go first, and those that were not used for 22
 * hours. The time of a file is that of its last use, give or take an hour.
 */
export class DiskTier implements BodyDisk {
  readonly #dir: string
  readonly #process: Process
  readonly #log: Log
  readonly #clock: Clock
  readonly #files: RecentMap<File>
  readonly #writing = new Map<string, Promise<void>>()
  readonly #removing = new Set<Promise<void>>()
  /** Files that were removed while those of earlier runs are looked for. Null: all are found. */
  #removedMeanwhile: Set<string> | null = new Set()
  #restsUntilMs = Number.NEGATIVE_INFINITY
  #isClosed = false
  /** Resolves when the files of earlier runs are known. Bodies are read and kept before, too. */
  readonly found: Promise<void>
  readonly #looking: NodeJS.Timeout

  /** `limitBytes`: of all processes together. */
  constructor(dataDir: string, limitBytes: number, process: Process, clock: Clock, log: Log) {
    this.#clock = clock
    this.#dir = path.join(dataDir, BODIES_DIR)
    this.#process = process
    this.#log = log
    this.#files = new RecentMap({
      limit: Math.floor(limitBytes / process.of),
      weigh: ({ bytes }) => bytes,
      gone: (name) => this.#remove(name),
    })
    this.found = this.#find().catch((error: unknown) => {
      this.#log.warn({ err: error, dir: this.#dir }, 'bodies on disk cannot be listed')
    })
    this.#looking = setInterval(() => void this.removeUnused(), LOOK_EVERY_MS).unref()
  }

  get bytes(): number {
    return this.#files.weight
  }

  async get(key: string): Promise<Buffer | null> {
    const name = nameOf(key)
    try {
      const body = await read(this.#fileOf(name))
      this.#noteUse(name)
      return body
    } catch {
      // Another program, or the process that keeps it, has removed it.
      this.#files.delete(name)
      return null
    }
  }

  /** Keeps a body, in the background. A damaged one is replaced. */
  put(key: string, body: Buffer): void {
    const name = nameOf(key)
    const isKept = this.#files.peek(name) !== undefined || this.#writing.has(name)
    if (this.#isClosed || isKept || !this.#owns(name) || this.#writing.size >= MOST_WRITES) return
    if (nowMs() < this.#restsUntilMs) return
    const written = this.#write(name, body).finally(() => this.#writing.delete(name))
    this.#writing.set(name, written)
  }

  /** Deletes a damaged body, also one that another process keeps. That one finds its file missing. */
  drop(key: string): void {
    const name = nameOf(key)
    if (this.#files.peek(name) === undefined) this.#remove(name)
    else this.#files.delete(name)
  }

  /** Deletes the files that were not used for 22 hours. It is done each hour. */
  async removeUnused(): Promise<void> {
    for (const [name, file] of this.#files.entries()) {
      if (this.#isClosed) return
      if (!this.#isUnused(file.usedMs)) continue
      // Another process may have read it.
      const known = await stat(this.#fileOf(name)).catch(() => null)
      if (known !== null && !this.#isUnused(known.mtimeMs)) file.usedMs = known.mtimeMs
      else if (this.#isUnused(file.usedMs)) this.#files.delete(name)
    }
  }

  /** Waits for files that are being written. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#looking)
    await this.found
    await Promise.all([...this.#writing.values(), ...this.#removing])
  }

  #owns(name: string): boolean {
    return Number.parseInt(name.slice(0, 2), 16) % this.#process.of === this.#process.at
  }

  #isUnused(usedMs: number): boolean {
    return usedMs < this.#clock.nowMs() - KEPT_MS
  }

  #noteUse(name: string): void {
    const nowMs = this.#clock.nowMs()
    const file = this.#files.get(name)
    // What another process keeps has no time here.
    if (file !== undefined) {
      if (nowMs - file.usedMs < LOOK_EVERY_MS) return
      file.usedMs = nowMs
    }
    const now = new Date(nowMs)
    // If it fails, the file goes earlier.
    utimes(this.#fileOf(name), now, now, () => {})
  }

  #fileOf(name: string): string {
    return path.join(this.#dir, name.slice(0, 2), name)
  }

  async #write(name: string, body: Buffer): Promise<void> {
    const file = this.#fileOf(name)
    const draft = `${file}.unfinished`
    try {
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW
      const handle = await open(draft, flags, 0o600)
      try {
        await handle.writeFile(body)
      } finally {
        await handle.close()
      }
      await rename(draft, file)
      this.#files.set(name, { bytes: body.length, usedMs: this.#clock.nowMs() })
      // It is larger than the whole limit.
      if (this.#files.peek(name) === undefined) await rm(file, { force: true })
    } catch (error) {
      await rm(draft, { force: true }).catch(() => {})
      this.#failed(error as NodeJS.ErrnoException)
    }
  }

  #failed(error: NodeJS.ErrnoException): void {
    const wasResting = nowMs() < this.#restsUntilMs
    this.#restsUntilMs = nowMs() + REST_MS
    if (wasResting) return
    const reason = FULL.has(error.code ?? '') ? 'the disk is full' : error.message
    this.#log.warn({ reason, dir: this.#dir }, 'bodies are not kept on disk for a minute')
  }

  #remove(name: string): void {
    this.#removedMeanwhile?.add(name)
    const removed = rm(this.#fileOf(name), { force: true })
      .catch((error: NodeJS.ErrnoException) => this.#failed(error))
      .finally(() => this.#removing.delete(removed))
    this.#removing.add(removed)
  }

  /** Finds the files of earlier runs, the least recently used first. */
  async #find(): Promise<void> {
    const found: { name: string; file: File }[] = []
    for (const folder of FOLDERS) {
      if (this.#isClosed) return
      if (!this.#owns(folder)) continue
      const names = await readdir(path.join(this.#dir, folder)).catch(() => [])
      for (const name of names) {
        const file = path.join(this.#dir, folder, name)
        if (!FILE.test(name)) {
          if (!this.#writing.has(name.replace('.unfinished', '')))
            await rm(file, { force: true, recursive: true })
          continue
        }
        const known = await stat(file).catch(() => null)
        if (known !== null) found.push({ name, file: { bytes: known.size, usedMs: known.mtimeMs } })
      }
    }
    found.sort((one, other) => one.file.usedMs - other.file.usedMs)
    const removed = this.#removedMeanwhile ?? new Set()
    this.#removedMeanwhile = null
    for (const { name, file } of found) {
      if (this.#files.peek(name) === undefined && !removed.has(name)) this.#files.set(name, file)
    }
    await this.removeUnused()
  }
}

/** The random digits of a key, which alone name its file. */
function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}

/** Deletes what an earlier run kept. */
export async function removeBodiesOnDisk(dataDir: string): Promise<void> {
  await rm(path.join(dataDir, BODIES_DIR), { recursive: true, force: true })
}

function nowMs(): number {
  return systemStopwatch() * 1_000
}
