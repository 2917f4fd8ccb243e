/** The door `@prepaint/outbound/sitemaps`: how robots.txt and sitemaps of a site are fetched and read. */
export { type OwnEntry, openSitemap, readSitemap } from './read-sitemap.ts'
export {
  fetchRobots,
  isFailing,
  ROBOTS_LIMIT_BYTES,
  type Robots,
  readRobots,
  servableRobots,
} from './robots.ts'
export { type SitemapEntry, SitemapScanner } from './scanner.ts'
