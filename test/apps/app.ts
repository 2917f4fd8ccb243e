import path from 'node:path'

/** A client-rendered application published on npm by others. */
export type App = {
  /** Also the first label of its domain: lower case, no dots. */
  name: string
  framework: string
  /** URL prefix (ends with `/`) to the folder that is served under it; the longest prefix wins. */
  folders: Readonly<Record<string, string>>
  /** What the site's owner adds: documents, settings, data. By path, before the folders. */
  answers: Readonly<Record<string, Answer>>
  /** Of every response. */
  headers?: Readonly<Record<string, string>>
  /** Gets every path that is neither an answer nor a file, as hosting of single-page sites does. */
  fallback?: string
  /** What it asks for although its package does not hold it; people get the same 404. */
  absent?: readonly string[]
  pages: readonly AppPage[]
}

export type Answer = { type: string; body: string; delayMs?: number }

export type AppPage = {
  path: string
  /** Words a person reads there, none of which is in the document that the origin sends. */
  texts: readonly string[]
}

/** Absolute path of a folder in an installed package. */
export function packageDir(name: string, folder = ''): string {
  return path.resolve(import.meta.dirname, '..', '..', 'node_modules', name, folder)
}

export function html(body: string): Answer {
  return { type: 'text/html; charset=utf-8', body }
}

/** Data arrives after `delayMs`, so a snapshot at the load event misses it. */
export function json(value: unknown, delayMs = 30): Answer {
  return { type: 'application/json', body: JSON.stringify(value), delayMs }
}
