/** Who runs crawlers that can be told from forged ones. */
type CrawlerOwner = {
  /** As the operator names files and addresses of its ranges: `bingbot.json`. */
  name: string
  /** A crawler's user agent that says it is of this owner. */
  claims: RegExp
  /** Domains in which the owner's addresses have their names; empty: it promises none. */
  hosts: readonly string[]
}

/**
 * Only what the owners themselves document, since a wrong row would call an
 * honest crawler forged. Facebook's is absent on purpose: every iPhone sends
 * its name when it makes a preview of a link.
 */
export const CRAWLER_OWNERS: readonly CrawlerOwner[] = [
  {
    name: 'googlebot',
    claims:
      /Googlebot|AdsBot-Google|Storebot-Google|GoogleOther|APIs-Google|Mediapartners-Google|Google-InspectionTool|Google-CloudVertexBot/i,
    hosts: ['googlebot.com', 'google.com'],
  },
  // Fetched at somebody's request, from addresses that customers of Google's cloud have too: ranges only.
  {
    name: 'google-user-triggered',
    claims: /(?<!like )FeedFetcher-Google|Google-Site-Verification|Google-Read-Aloud|Google-NotebookLM/i,
    hosts: [],
  },
  { name: 'bingbot', claims: /bingbot|msnbot|BingPreview|adidxbot/i, hosts: ['search.msn.com'] },
  { name: 'yandex', claims: /Yandex/i, hosts: ['yandex.ru', 'yandex.net', 'yandex.com'] },
  { name: 'baidu', claims: /Baiduspider/i, hosts: ['baidu.com', 'baidu.jp'] },
  { name: 'applebot', claims: /Applebot/i, hosts: ['applebot.apple.com'] },
  {
    name: 'pinterest',
    claims: /Pinterestbot|Pinterest\/0\./i,
    hosts: ['pinterest.com', 'pinterestcrawler.com'],
  },
  { name: 'seznam', claims: /SeznamBot/i, hosts: ['seznam.cz'] },
  { name: 'yahoo', claims: /Yahoo! Slurp/i, hosts: ['crawl.yahoo.net'] },
  { name: 'petalbot', claims: /PetalBot/i, hosts: ['petalsearch.com', 'aspiegel.com'] },
  { name: 'amazonbot', claims: /Amazonbot/i, hosts: ['crawl.amazonbot.amazon'] },
  { name: 'ccbot', claims: /\bCCBot/i, hosts: ['crawl.commoncrawl.org'] },
  { name: 'ahrefs', claims: /AhrefsBot|AhrefsSiteAudit/i, hosts: ['ahrefs.com', 'ahrefs.net'] },
  { name: 'gptbot', claims: /GPTBot/i, hosts: [] },
  { name: 'oai-searchbot', claims: /OAI-SearchBot/i, hosts: [] },
  { name: 'chatgpt-user', claims: /ChatGPT-User/i, hosts: [] },
  { name: 'perplexitybot', claims: /PerplexityBot/i, hosts: [] },
  { name: 'perplexity-user', claims: /Perplexity-User/i, hosts: [] },
  { name: 'duckduckbot', claims: /DuckDuckBot/i, hosts: [] },
  { name: 'duckassistbot', claims: /DuckAssistBot/i, hosts: [] },
  { name: 'mistralai-user', claims: /MistralAI-User/i, hosts: [] },
]

/** The owner that a crawler's user agent claims, the first of several; null: nobody who could be asked. */
export function claimedOwner(userAgent: string): CrawlerOwner | null {
  return CRAWLER_OWNERS.find(({ claims }) => claims.test(userAgent)) ?? null
}
