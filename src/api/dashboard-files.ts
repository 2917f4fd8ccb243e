import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

import type { Encoding } from '../http/accept-encoding.ts'

/** A file of the built dashboard, with all forms in which it can be sent. */
export type DashboardFile = {
  /** Where it is served: begins with `/`. */
  url: string
  type: string
  /** The preferred first. */
  forms: ReadonlyMap<Encoding, DashboardForm>
  /** Its name changes with its content. */
  isHashed: boolean
}

/** `etag`: strong, so it is that of exactly these bytes (RFC 9110, section 8.8.3). */
export type DashboardForm = { body: Buffer; etag: string }

export type Dashboard = { index: DashboardFile; others: readonly DashboardFile[] }

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** What the build of the dashboard puts beside a file. */
const COMPRESSED = { '.br': 'br', '.gz': 'gzip' } as const satisfies Record<string, Encoding>

/**
 * All files of the built dashboard, read once: what is not among them cannot be
 * asked for, whatever a path looks like. Null: it has not been built. Throws
 * for a file of a kind that it does not know.
 */
export function readDashboard(dir: string): Dashboard | null {
  if (!existsSync(path.join(dir, 'index.html'))) return null
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !(path.extname(entry.name) in COMPRESSED))
    .map((entry) => readDashboardFile(dir, path.join(entry.parentPath, entry.name)))
  const others = files.filter(({ url }) => url !== '/index.html')
  return { index: files.find(({ url }) => url === '/index.html')!, others }
}

function readDashboardFile(dir: string, file: string): DashboardFile {
  const type = TYPES[path.extname(file)]
  if (type === undefined) throw new Error(`${file} is no file of a dashboard`)
  const forms = new Map<Encoding, DashboardForm>()
  for (const [ending, encoding] of Object.entries(COMPRESSED)) {
    if (existsSync(file + ending)) forms.set(encoding, readForm(file + ending))
  }
  forms.set('identity', readForm(file))
  const url = `/${path.relative(dir, file).split(path.sep).join('/')}`
  return { url, type, forms, isHashed: url.startsWith('/assets/') }
}

function readForm(file: string): DashboardForm {
  const body = readFileSync(file)
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
}
