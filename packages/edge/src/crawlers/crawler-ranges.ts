import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { CRAWLER_OWNERS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { FetchText } from '@prepaint/outbound'
import type { Log } from '@prepaint/runtime/log.ts'
import { z } from 'zod'
import { type AddressList, LIST_LIMIT_BYTES, NotAnAddressList, parseAddressList } from './address-list.ts'

type CrawlerRangesOptions = { refreshEveryMs?: number; retryAfterMs?: number }

/** The directory is invalid, which stops the startup. */
export class RangesError extends Error {
  override name = 'RangesError'
  constructor(problem: string, options?: ErrorOptions) {
    super(`PREPAINT_CRAWLER_RANGES_DIR: ${problem}`, options)
  }
}

const SOURCES = 'sources.json'
const FILES_LIMIT = 200
const DAY_MS = 86_400_000
/** A starting machine may have no network yet. */
const RETRY_MS = 600_000

const sourcesSchema = z.record(z.string(), z.array(z.url({ protocol: /^https?$/ })).max(10))

/**
 * Reads `<owner>.json`, `<owner>.txt` or `<owner>.2.json`, and fetches the URLs in `sources.json` daily. An owner's
 * lists are merged; with one missing, its ranges are unknown.
 */
export class CrawlerRanges {
  readonly #fetchText: FetchText
  readonly #log: Log
  readonly #retryAfterMs: number
  readonly #files: ReadonlyMap<string, AddressList[]>
  readonly #sources: Readonly<Record<string, string[]>>
  readonly #fetched = new Map<string, AddressList>()
  readonly #timer: NodeJS.Timeout
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  /** Throws RangesError if the directory is unreadable or invalid. Without a directory (null) there are no ranges. */
  constructor(dir: string | null, fetchText: FetchText, log: Log, options: CrawlerRangesOptions = {}) {
    const { refreshEveryMs = DAY_MS, retryAfterMs = RETRY_MS } = options
    this.#fetchText = fetchText
    this.#log = log
    this.#retryAfterMs = retryAfterMs
    this.#files = dir === null ? new Map() : readLists(dir)
    this.#sources = dir === null ? {} : readSources(path.join(dir, SOURCES))
    this.#timer = setInterval(() => void this.refresh(), refreshEveryMs).unref()
  }

  /** Fetches all lists. Never rejects: lists that fail keep their ranges. */
  refresh(): Promise<void> {
    return this.#fetchAll(new Set(Object.values(this.#sources).flat()))
  }

  /** Returns null if no ranges are known for this owner. */
  rangesOf(owner: string): AddressList | null {
    const urls = this.#sources[owner] ?? []
    // A partial list would call genuine crawlers forged.
    if (urls.some((url) => !this.#fetched.has(url))) return null
    const lists = [...(this.#files.get(owner) ?? [])]
    for (const url of urls) lists.push(this.#fetched.get(url)!)
    if (lists.length === 0) return null
    return {
      ranges: lists.reduce((sum, { ranges }) => sum + ranges, 0),
      has: (address) => lists.some((list) => list.has(address)),
    }
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    clearTimeout(this.#retry)
  }

  async #fetchAll(urls: ReadonlySet<string>): Promise<void> {
    clearTimeout(this.#retry)
    if (this.#isClosed) return
    const missed = new Set<string>()
    for (const url of urls) {
      try {
        this.#fetched.set(url, parseAddressList(await this.#fetchText(url, LIST_LIMIT_BYTES)))
      } catch (error) {
        missed.add(url)
        this.#log.warn(
          { err: error, url },
          'the address ranges of a crawler could not be fetched; the last ones stay in use',
        )
      }
    }
    if (missed.size === 0 || this.#isClosed) return
    this.#retry = setTimeout(() => void this.#fetchAll(missed), this.#retryAfterMs).unref()
  }
}

function readLists(dir: string): Map<string, AddressList[]> {
  const lists = new Map<string, AddressList[]>()
  const names = entriesOf(dir).filter((name) => /\.(json|txt)$/.test(name) && name !== SOURCES)
  if (names.length > FILES_LIMIT) throw new RangesError(`${dir} has more than ${FILES_LIMIT} files`)
  for (const name of names) {
    const owner = name.split('.', 1)[0]!
    checkOwner(owner, name)
    const list = readFile(path.join(dir, name), parseAddressList)
    const before = lists.get(owner)
    if (before === undefined) lists.set(owner, [list])
    else before.push(list)
  }
  return lists
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir).sort()
  } catch (error) {
    throw new RangesError(`${dir} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function readSources(file: string): Record<string, string[]> {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return {}
  const sources = readFile(file, (text) => sourcesSchema.parse(JSON.parse(text)))
  for (const owner of Object.keys(sources)) checkOwner(owner, SOURCES)
  return sources
}

function readFile<T>(file: string, parse: (text: string) => T): T {
  try {
    if (statSync(file).size > LIST_LIMIT_BYTES) throw new NotAnAddressList('longer than 1 MiB')
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message
    throw new RangesError(`${file}: ${why}`, { cause: error })
  }
}

/** A typo would silently verify no crawler. */
function checkOwner(owner: string, where: string): void {
  if (Object.hasOwn(CRAWLER_OWNERS, owner)) return
  const known = Object.keys(CRAWLER_OWNERS).join(', ')
  throw new RangesError(`${where}: no crawler is called "${owner}"; known are ${known}`)
}
