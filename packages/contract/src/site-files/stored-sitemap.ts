/** With the custom domain in it. */
export type StoredSitemap = {
  contentType: string
  /** The resource itself is a gzip file (`sitemap.xml.gz`). */
  gzipFile: boolean
  etag: string
  /** Of an index: the paths of its sitemaps. */
  names: readonly string[]
  bodyGzip: Buffer
  fetchedAtMs: number
}
