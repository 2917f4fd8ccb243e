import type { DomainId } from '@prepaint/contract/ids.ts'
import { judgeCrawler } from '@prepaint/contract/site-files/judge-crawler.ts'
import type { RedirectMap } from '@prepaint/contract/site-files/redirects.ts'
import type { RobotsText } from '@prepaint/contract/site-files/robots-rules.ts'
import { escapeXml } from '@prepaint/contract/site-files/xml-text.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { RuleBook } from '@prepaint/runtime/rule-book.ts'

/** The sitemap protocol's limits. */
export const URLS_A_FILE = 50_000
const LOCATION_LIMIT_CHARS = 2_048
/** So many pages are read at once, a part of a file's limit. A slow reader holds no connection in between. */
const BATCH = 1_000

type Listed = { path: string; changed_at: Date }

/** What keeps paths out of a sitemap. Redirects and robots.txt are null if there are none, or if they are not known. */
type Closures = { redirects: RedirectMap | null; robots: RobotsText | null; rules: RuleBook }

/** Pages are listed that were rendered since `sinceMs`. */
type SitemapSite = Closures & { id: DomainId; name: string; sinceMs: number }

const LISTED = 'domain_id = $1 and is_listed and rendered_at >= $2'

/** Whether neither redirects, nor robots.txt, nor a rule that answers 404 or 410 keeps the path out. */
export function isOpen(path: string, { redirects, robots, rules }: Closures): boolean {
  const action = rules.chosen(path)?.rule.action
  if (action === 'not-found' || action === 'gone' || redirects?.covers(path)) return false
  return robots === null || judgeCrawler(robots, 'Googlebot', path).allowed
}

/**
 * Returns a file in pieces, or the whole sitemap or its index if `file` is null. Returns null if there is no such file. A sitemap
 * without a page has no pieces.
 */
export async function sitemapFile(
  db: Queryable,
  site: SitemapSite,
  file: number | null,
): Promise<AsyncGenerator<string> | null> {
  // Counts also what robots.txt or a redirect takes out.
  const { rows } = await db.query<{ pages: number }>(
    `select count(*)::int as pages from page_fact where ${LISTED}`,
    [site.id, new Date(site.sinceMs)],
  )
  const files = Math.ceil(rows[0]!.pages / URLS_A_FILE)
  if (file !== null && (files < 2 || file >= files)) return null
  return file === null && files > 1 ? indexOf(site, files) : urlsOf(db, site, file ?? 0)
}

const opening = (element: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<${element} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n`

async function* indexOf({ name }: SitemapSite, files: number): AsyncGenerator<string> {
  yield opening('sitemapindex')
  for (let file = 1; file <= files; file++) {
    yield `<sitemap><loc>https://${name}/sitemap-${file}.xml</loc></sitemap>\n`
  }
  yield '</sitemapindex>\n'
}

async function* urlsOf(db: Queryable, site: SitemapSite, file: number): AsyncGenerator<string> {
  let after: string | undefined = ''
  let isBegun = false
  for (let read = 0; after !== undefined && read < URLS_A_FILE; read += BATCH) {
    const skipped = read === 0 ? file * URLS_A_FILE : 0
    const { rows }: { rows: Listed[] } = await db.query<Listed>({
      name: 'sitemap-batch',
      text: `select path, changed_at from page_fact where ${LISTED} and path > $3
              order by path offset $4 limit ${BATCH}`,
      values: [site.id, new Date(site.sinceMs), after, skipped],
    })
    after = rows[BATCH - 1]?.path
    const urls = rows.filter(({ path }) => isOpen(path, site)).map((row) => entry(site.name, row))
    if (urls.join('') === '') continue
    yield `${isBegun ? '' : opening('urlset')}${urls.join('')}`
    isBegun = true
  }
  if (isBegun) yield '</urlset>\n'
}

function entry(name: string, { path, changed_at }: Listed): string {
  const location = `https://${name}${path}`
  if (location.length > LOCATION_LIMIT_CHARS) return ''
  const lastmod = `${changed_at.toISOString().slice(0, 19)}Z`
  return `<url><loc>${escapeXml(location)}</loc><lastmod>${lastmod}</lastmod></url>\n`
}
