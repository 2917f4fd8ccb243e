import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import { escapeXml } from '../sitemaps/xml-text.ts'

/** The sitemap protocol's limits. */
export const URLS_A_FILE = 50_000
const LOCATION_LIMIT_CHARS = 2_048
/** Read at once; a slow reader holds no connection in between. */
const BATCH = 1_000

type Listed = { path: string; changed_at: Date }

export type SitemapSite = {
  id: DomainId
  name: string
  /** Rendered since then. */
  sinceMs: number
  /** By robots.txt and redirects. */
  lists(path: string): boolean
}

const LISTED = 'domain_id = $1 and is_listed and rendered_at >= $2'

/** With those that robots.txt or a redirect takes out. */
export async function countListed(db: Queryable, { id, sinceMs }: SitemapSite): Promise<number> {
  const { rows } = await db.query<{ pages: number }>(
    `select count(*)::int as pages from page_fact where ${LISTED}`,
    [id, new Date(sinceMs)],
  )
  return rows[0]!.pages
}

/** The index of so many files. */
export function sitemapIndex({ name }: SitemapSite, files: number): string {
  const entries = Array.from(
    { length: files },
    (_, at) => `<sitemap><loc>https://${name}/sitemap-${at + 1}.xml</loc></sitemap>\n`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries.join('')}</sitemapindex>\n`
}

/** One file in pieces, from the given one of the index on (0: the first); nothing for a file without pages. */
export async function* sitemapFile(db: Queryable, site: SitemapSite, file: number): AsyncGenerator<string> {
  let after = file === 0 ? '' : await lastBefore(db, site, file)
  let isBegun = false
  for (let read = 0; after !== null && read < URLS_A_FILE; ) {
    const limit: number = Math.min(BATCH, URLS_A_FILE - read)
    const { rows }: { rows: Listed[] } = await db.query<Listed>({
      name: 'sitemap-batch',
      text: `select path, changed_at from page_fact where ${LISTED} and path > $3 order by path limit $4`,
      values: [site.id, new Date(site.sinceMs), after, limit],
    })
    read += rows.length
    after = rows.length < limit ? null : rows.at(-1)!.path
    const urls = rows.filter(({ path }) => site.lists(path)).map((row) => entry(site.name, row))
    if (urls.join('') === '') continue
    yield `${isBegun ? '' : HEAD}${urls.join('')}`
    isBegun = true
  }
  if (isBegun) yield '</urlset>\n'
}

const HEAD =
  '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'

function entry(name: string, { path, changed_at }: Listed): string {
  const location = `https://${name}${path}`
  if (location.length > LOCATION_LIMIT_CHARS) return ''
  const lastmod = `${changed_at.toISOString().slice(0, 19)}Z`
  return `<url><loc>${escapeXml(location)}</loc><lastmod>${lastmod}</lastmod></url>\n`
}

/** The last path of the file before; null: there are not so many. */
async function lastBefore(db: Queryable, { id, sinceMs }: SitemapSite, file: number): Promise<string | null> {
  const { rows } = await db.query<{ path: string }>(
    `select path from page_fact where ${LISTED} order by path offset $3 limit 1`,
    [id, new Date(sinceMs), file * URLS_A_FILE - 1],
  )
  return rows[0]?.path ?? null
}
