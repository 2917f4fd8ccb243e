import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { CRAWLER_OWNERS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { FetchText } from '@prepaint/outbound'
import type { Log } from '@prepaint/runtime/log.ts'
import { z } from 'zod'
import { type AddressList, LIST_LIMIT_BYTES, NotAnAddressList, parseAddressList } from './address-list.ts'

type CrawlerRanges = {
  /** null: no ranges known for this owner. */
  rangesOf(owner: string): AddressList | null
  /** Fetches all lists. Never rejects: lists that fail keep their ranges. */
  refresh(): Promise<void>
  close(): void
}

type CrawlerRangesOptions = {
  dir: string | null
  fetchText: FetchText
  log: Log
  refreshEveryMs?: number
  retryAfterMs?: number
}

/** Invalid directory: stops the startup. */
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
 * lists are merged; with one missing, its ranges are unknown. Throws RangesError if the directory is unreadable or
 * invalid.
 */
export function createCrawlerRanges(options: CrawlerRangesOptions): CrawlerRanges {
  const { dir, fetchText, log, refreshEveryMs = DAY_MS, retryAfterMs = RETRY_MS } = options
  const files = dir === null ? new Map<string, AddressList[]>() : readLists(dir)
  const sources = dir === null ? {} : readSources(path.join(dir, SOURCES))
  const fetched = new Map<string, AddressList>()
  let closed = false
  let retry: NodeJS.Timeout | undefined

  const refresh = () => fetchAll(new Set(Object.values(sources).flat()))

  async function fetchAll(urls: ReadonlySet<string>): Promise<void> {
    clearTimeout(retry)
    if (closed) return
    const missed = new Set<string>()
    for (const url of urls) {
      try {
        fetched.set(url, parseAddressList(await fetchText(url, LIST_LIMIT_BYTES)))
      } catch (error) {
        missed.add(url)
        log.warn(
          { err: error, url },
          'the address ranges of a crawler could not be fetched; the last ones stay in use',
        )
      }
    }
    if (missed.size > 0 && !closed) retry = setTimeout(() => void fetchAll(missed), retryAfterMs).unref()
  }

  function rangesOf(owner: string): AddressList | null {
    const own = sources[owner] ?? []
    // A partial list would call genuine crawlers forged.
    if (own.some((url) => !fetched.has(url))) return null
    const lists = [...(files.get(owner) ?? []), ...own.map((url) => fetched.get(url)!)]
    if (lists.length === 0) return null
    return {
      ranges: lists.reduce((sum, { ranges }) => sum + ranges, 0),
      has: (address) => lists.some((list) => list.has(address)),
    }
  }

  const timer = setInterval(() => void refresh(), refreshEveryMs).unref()
  const close = () => {
    closed = true
    clearInterval(timer)
    clearTimeout(retry)
  }
  return { rangesOf, refresh, close }
}

function readLists(dir: string): Map<string, AddressList[]> {
  const lists = new Map<string, AddressList[]>()
  const names = entriesOf(dir).filter((name) => /\.(json|txt)$/.test(name) && name !== SOURCES)
  if (names.length > FILES_LIMIT) throw new RangesError(`${dir} has more than ${FILES_LIMIT} files`)
  for (const name of names) {
    const owner = name.split('.', 1)[0]!
    checkOwner(owner, name)
    const list = readFile(path.join(dir, name), parseAddressList)
    lists.set(owner, [...(lists.get(owner) ?? []), list])
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
