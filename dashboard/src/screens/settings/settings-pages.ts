import type { Action } from '@prepaint/contract/roles.ts'
import type { SettingsPage } from '../../route-map.ts'

export type SettingsPageEntry = {
  page: SettingsPage
  title: string
  /** Other words that people look for it with. */
  words: string
  /** Roles that may not do this do not see the page. */
  needs: Action
  /** Roles that may not do this see the page, but change nothing. */
  edits: Action
}

/** The pages of a domain's settings, in their order: the list beside them and Ctrl K are made from it. */
const SETTINGS_PAGES: readonly SettingsPageEntry[] = [
  {
    page: 'site',
    title: 'Site',
    words: 'server backend upstream pause general',
    needs: 'getRobots',
    edits: 'updateDomain',
  },
  {
    page: 'freshness',
    title: 'Freshness',
    words: 'TTL cache lifetime expiry age max-age stale',
    needs: 'getRobots',
    edits: 'updateDomain',
  },
  {
    page: 'paths',
    title: 'Paths',
    words: 'rules query parameters exclude include url patterns',
    needs: 'getRobots',
    edits: 'updateDomain',
  },
  {
    page: 'crawlers',
    title: 'Crawlers',
    words: 'bots user agents AI block purposes preferences',
    needs: 'listVersions',
    edits: 'updateDomain',
  },
  {
    page: 'rendering',
    title: 'Rendering',
    words: 'browser Chromium wait timeout soft 404',
    needs: 'getRobots',
    edits: 'updateDomain',
  },
  {
    page: 'forms',
    title: 'Forms',
    words: 'Markdown cards phones mobile devices llms.txt previews',
    needs: 'getRobots',
    edits: 'updateDomain',
  },
  {
    page: 'robots',
    title: 'robots.txt',
    words: 'disallow allow exclusion',
    needs: 'getRobots',
    edits: 'updateDomain',
  },
  {
    page: 'redirects',
    title: 'Redirects',
    words: '301 302 moved gone 410 CSV',
    needs: 'listRedirects',
    edits: 'replaceRedirects',
  },
  {
    page: 'sitemap',
    title: 'Sitemap and IndexNow',
    words: 'sitemap.xml Bing Yandex submit',
    needs: 'getIndexNow',
    edits: 'updateDomain',
  },
  {
    page: 'access',
    title: 'Access to the origin',
    words: 'firewall header secret password WAF Cloudflare allow list IP addresses',
    needs: 'getEgress',
    edits: 'updateDomain',
  },
  {
    page: 'certificate',
    title: 'Certificate',
    words: 'TLS SSL HTTPS PEM upload',
    needs: 'getCertificate',
    edits: 'putCertificate',
  },
  {
    page: 'tokens',
    title: 'Webhook tokens',
    words: 'deploy hook CI refresh API',
    needs: 'createToken',
    edits: 'createToken',
  },
  {
    page: 'delete',
    title: 'Delete this domain',
    words: 'remove site',
    needs: 'deleteDomain',
    edits: 'deleteDomain',
  },
]

/** The pages that somebody sees who may do these actions. */
export function settingsPagesFor(may: (action: Action) => boolean): readonly SettingsPageEntry[] {
  return SETTINGS_PAGES.filter(({ needs }) => may(needs))
}
