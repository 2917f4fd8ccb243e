/** A sitemap of the origin, with the custom domain in it. */
export type StoredSitemap = {
  contentType: string
  /** The resource itself is a gzip file (`sitemap.xml.gz`). */
  gzipFile: boolean
  etag: string
  /** The paths of its sitemaps, if it is an index. */
  names: readonly string[]
  bodyGzip: Buffer
  fetchedAtMs: number
}
