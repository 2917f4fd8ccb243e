import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type { CrawlerCategory } from '../settings/domain-settings.ts'

/** Lower case. `^`: at the start of the user agent. */
type Pattern = string

type KnownCrawler = readonly [
  name: string,
  pattern: Pattern,
  category: CrawlerCategory,
  /** Absent or null: cannot be verified. */
  owner?: OwnerName | null,
  /** Of an AI crawler's purpose. */
  source?: string,
]

// Where companies say what their crawlers are for. ByteDance and Cohere publish nothing; directories of crawlers disagree.
const OPENAI = 'developers.openai.com/api/docs/bots'
const ANTHROPIC = 'support.claude.com/en/articles/8896518'
const PERPLEXITY = 'docs.perplexity.ai/docs/resources/perplexity-crawlers'
/** Says "improve our services" and nothing of training; directories of crawlers disagree. */
const AMAZON = 'developer.amazon.com/amazonbot'
const META = 'developers.facebook.com/docs/sharing/webmasters/web-crawlers'

/**
 * The only table of crawlers. The first match counts, because some name others (`TelegramBot (like TwitterBot)`).
 * `examples/integrations` is tested against it. ai-training: collects text for models · ai-search: for answers of an
 * assistant · ai-user: pages that an assistant's user asked for · ai: unknown which · social: link previews · seo: tools for site owners · other: archives, feeds, advertising, verification.
 */
export const KNOWN_CRAWLERS: readonly KnownCrawler[] = [
  // Preview fetchers only: apps of the same name show pages to people.
  ['Facebook', 'facebookexternalhit', 'social'],
  ['Facebook catalog', 'facebookcatalog', 'social'],
  ['Facebot', 'facebot', 'social'],
  ['TelegramBot', 'telegrambot', 'social'],
  ['Twitterbot', 'twitterbot', 'social'],
  ['LinkedInBot', 'linkedinbot', 'social'],
  ['Slackbot', 'slackbot', 'social'],
  ['Slack images', 'slack-imgproxy', 'social'],
  ['Discordbot', 'discordbot', 'social'],
  ['WhatsApp', '^whatsapp/', 'social'],
  ['Pinterestbot', 'pinterestbot', 'social', 'pinterest'],
  ['Pinterest', 'pinterest/0.', 'social', 'pinterest'],
  ['Redditbot', 'redditbot', 'social'],
  ['Skype preview', 'skypeuripreview', 'social'],
  ['VK', 'vkshare', 'social'],
  ['Snapchat preview', 'snap url preview', 'social'],
  ['Bluesky', 'bluesky cardyb', 'social'],
  ['Mastodon', '^mastodon/', 'social'],
  ['Iframely', 'iframely', 'social'],
  ['Embedly', 'embedly', 'social'],
  ['KakaoTalk', 'kakaotalk-scrap', 'social'],
  ['LINE', 'line-poker', 'social'],
  ['Viberbot', 'viberbot', 'social'],
  ['Tumblr', '^tumblr/', 'social'],
  ['Flipboardproxy', 'flipboardproxy', 'social'],
  ['Microsoft Teams', 'msteams-preview', 'social'],
  ['Google page renderer', 'google-pagerenderer', 'social'],

  ['GPTBot', 'gptbot', 'ai-training', 'gptbot', OPENAI],
  ['OAI-SearchBot', 'oai-searchbot', 'ai-search', 'oai-searchbot', OPENAI],
  ['ChatGPT-User', 'chatgpt-user', 'ai-user', 'chatgpt-user', OPENAI],
  ['ClaudeBot', 'claudebot', 'ai-training', null, ANTHROPIC],
  ['Claude-User', 'claude-user', 'ai-user', null, ANTHROPIC],
  ['Claude-SearchBot', 'claude-searchbot', 'ai-search', null, ANTHROPIC],
  ['Claude-web', 'claude-web', 'ai'],
  ['anthropic-ai', 'anthropic-ai', 'ai'],
  ['PerplexityBot', 'perplexitybot', 'ai-search', 'perplexitybot', PERPLEXITY],
  ['Perplexity-User', 'perplexity-user', 'ai-user', 'perplexity-user', PERPLEXITY],
  ['Google-CloudVertexBot', 'google-cloudvertexbot', 'ai', 'googlebot'],
  ['Google NotebookLM', 'google-notebooklm', 'ai', 'google-user-triggered'],
  ['Meta-ExternalAgent', 'meta-externalagent', 'ai-training', null, META],
  ['Meta-ExternalFetcher', 'meta-externalfetcher', 'ai-user', null, META],
  ['Meta-WebIndexer', 'meta-webindexer', 'ai-search', null, META],
  ['FacebookBot', 'facebookbot', 'ai'],
  ['Amazonbot', 'amazonbot', 'ai-training', 'amazonbot', AMAZON],
  ['Bytespider', 'bytespider', 'ai-training', null, 'not the vendor: darkvisitors.com/agents/bytespider'],
  ['CCBot', 'ccbot', 'ai-training', 'ccbot', 'commoncrawl.org/ccbot'],
  ['cohere-ai', 'cohere-ai', 'ai-training', null, 'not the vendor: darkvisitors.com/agents/cohere-ai'],
  ['Diffbot', 'diffbot', 'ai'],
  [
    'DuckAssistBot',
    'duckassistbot',
    'ai-search',
    'duckassistbot',
    'duckduckgo.com/duckduckgo-help-pages/results/duckassistbot',
  ],
  ['MistralAI-User', 'mistralai-user', 'ai-user', 'mistralai-user', 'docs.mistral.ai/robots'],
  ['YouBot', 'youbot', 'ai'],
  ['Timpibot', 'timpibot', 'ai'],
  ['ImagesiftBot', 'imagesiftbot', 'ai'],
  ['AI2Bot', 'ai2bot', 'ai-training', null, 'allenai.org/crawler'],
  ['Phindbot', 'phindbot', 'ai'],
  ['Gemini Deep Research', 'gemini-deep-research', 'ai'],
  ['PanguBot', 'pangubot', 'ai'],
  ['Bedrockbot', 'bedrockbot', 'ai'],
  ['Cotoyogi', 'cotoyogi', 'ai'],
  ['PetalBot', 'petalbot', 'search', 'petalbot'],

  // From a search company, but not for its index.
  ['AdsBot-Google', 'adsbot-google', 'other', 'googlebot'],
  ['Mediapartners-Google', 'mediapartners-google', 'other', 'googlebot'],
  ['Adidxbot', 'adidxbot', 'other', 'bingbot'],
  ['FeedFetcher-Google', '^feedfetcher-google', 'other', 'google-user-triggered'],
  ['Google site verification', 'google-site-verification', 'other', 'google-user-triggered'],
  ['Google Read Aloud', 'google-read-aloud', 'other', 'google-user-triggered'],
  ['Yandexdirect', 'yandexdirect', 'other', 'yandex'],
  ['Yandexmetrika', 'yandexmetrika', 'other', 'yandex'],
  ['BingPreview', 'bingpreview', 'search', 'bingbot'],
  ['Googlebot', 'googlebot', 'search', 'googlebot'],
  ['GoogleOther', 'googleother', 'search', 'googlebot'],
  ['Google-InspectionTool', 'google-inspectiontool', 'search', 'googlebot'],
  ['Storebot-Google', 'storebot-google', 'search', 'googlebot'],
  ['APIs-Google', 'apis-google', 'search', 'googlebot'],
  ['Bingbot', 'bingbot', 'search', 'bingbot'],
  ['Msnbot', 'msnbot', 'search', 'bingbot'],
  ['Yahoo Slurp', 'yahoo! slurp', 'search', 'yahoo'],
  ['Slurp', 'slurp', 'search'],
  ['DuckDuckBot', 'duckduckbot', 'search', 'duckduckbot'],
  ['Applebot', 'applebot', 'search', 'applebot'],
  ['YandexBot', 'yandexbot', 'search', 'yandex'],
  ['Yandexrenderresourcesbot', 'yandexrenderresourcesbot', 'search', 'yandex'],
  ['Yandeximages', 'yandeximages', 'search', 'yandex'],
  ['Yandexmobilebot', 'yandexmobilebot', 'search', 'yandex'],
  ['Baiduspider', 'baiduspider', 'search', 'baidu'],
  ['Sogou', 'sogou web spider', 'search'],
  ['360spider', '360spider', 'search'],
  ['Haosouspider', 'haosouspider', 'search'],
  ['Yisouspider', 'yisouspider', 'search'],
  ['Naver', 'naver.me/spd', 'search'],
  ['SeznamBot', 'seznambot', 'search', 'seznam'],
  ['Coccocbot', 'coccocbot', 'search'],
  ['Qwantbot', 'qwantbot', 'search'],
  ['Qwantify', 'qwantify', 'search'],
  ['Mojeekbot', 'mojeekbot', 'search'],
  ['Bravebot', 'bravebot', 'search'],
  ['Kagibot', 'kagibot', 'search'],
  ['Ecosia', 'ecosia-bot', 'search'],
  ['Daumoa', 'daumoa', 'search'],

  ['AhrefsBot', 'ahrefsbot', 'seo', 'ahrefs'],
  ['AhrefsSiteAudit', 'ahrefssiteaudit', 'seo', 'ahrefs'],
  ['SemrushBot', 'semrushbot', 'seo'],
  ['Semrush site audit', 'siteauditbot', 'seo'],
  ['Mj12bot', 'mj12bot', 'seo'],
  ['DotBot', 'dotbot', 'seo'],
  ['Rogerbot', 'rogerbot', 'seo'],
  ['Screaming Frog', 'screaming frog', 'seo'],
  ['DataForSeoBot', 'dataforseobot', 'seo'],
  ['BLEXBot', 'blexbot', 'seo'],
  ['Barkrowler', 'barkrowler', 'seo'],
  ['serpstatbot', 'serpstatbot', 'seo'],
  ['SEOkicks', 'seokicks', 'seo'],
  ['Seobilitybot', 'seobilitybot', 'seo'],
  ['Sistrix', 'sistrix', 'seo'],
  ['Xovibot', 'xovibot', 'seo'],
  ['OnCrawl', 'oncrawl', 'seo'],
  ['Botify', 'botify', 'seo'],
  ['Sitebulb', 'sitebulb', 'seo'],
  ['Deepcrawl', 'deepcrawl', 'seo'],
  ['Lumar', 'lumar', 'seo'],
  ['Linkdexbot', 'linkdexbot', 'seo'],
  ['MegaIndex', 'megaindex', 'seo'],
  ['Mauibot', 'mauibot', 'seo'],

  ['Internet Archive', 'archive.org_bot', 'other'],
  ['ia_archiver', 'ia_archiver', 'other'],
  ['Heritrix', 'heritrix', 'other'],
  ['Feedly', '^feedly/', 'other'],
  ['W3C validator', 'w3c_validator', 'other'],
]

type CrawlerOwner = {
  /** Domains of the owner's reverse DNS names; empty: only address ranges verify. */
  hosts: readonly string[]
  pattern?: Pattern
}

/**
 * Companies whose crawlers can be verified by their own documentation. Keys name range files (`bingbot.json`). No
 * Facebook: iPhones send its name for link previews.
 */
export const CRAWLER_OWNERS = {
  googlebot: { hosts: ['googlebot.com', 'google.com'] },
  // Ranges only: customers of Google's cloud have such addresses too.
  'google-user-triggered': { hosts: [] },
  bingbot: { hosts: ['search.msn.com'] },
  yandex: { hosts: ['yandex.ru', 'yandex.net', 'yandex.com'], pattern: 'yandex' },
  baidu: { hosts: ['baidu.com', 'baidu.jp'] },
  applebot: { hosts: ['applebot.apple.com'] },
  pinterest: { hosts: ['pinterest.com', 'pinterestcrawler.com'] },
  seznam: { hosts: ['seznam.cz'] },
  yahoo: { hosts: ['crawl.yahoo.net'] },
  petalbot: { hosts: ['petalsearch.com', 'aspiegel.com'] },
  amazonbot: { hosts: ['crawl.amazonbot.amazon'] },
  ccbot: { hosts: ['crawl.commoncrawl.org'] },
  ahrefs: { hosts: ['ahrefs.com', 'ahrefs.net'] },
  gptbot: { hosts: [] },
  'oai-searchbot': { hosts: [] },
  'chatgpt-user': { hosts: [] },
  perplexitybot: { hosts: [] },
  'perplexity-user': { hosts: [] },
  duckduckbot: { hosts: [] },
  duckassistbot: { hosts: [] },
  'mistralai-user': { hosts: [] },
} as const satisfies Record<string, CrawlerOwner>

export type OwnerName = keyof typeof CRAWLER_OWNERS

/** The rest of longer user agents is ignored. */
export const READ_CHARS = 512
const REMEMBERED = 10_000

const remembered = new RecentMap<{ index: number }>({ limit: REMEMBERED })

export function knownCrawlerIndex(userAgent: string): number {
  const known = remembered.get(userAgent)
  if (known !== undefined) return known.index
  const lower = userAgent.slice(0, READ_CHARS).toLowerCase()
  const index = KNOWN_CRAWLERS.findIndex(([, pattern]) => matches(lower, pattern))
  if (userAgent.length <= READ_CHARS) remembered.set(userAgent, { index })
  return index
}

/** null: none that can be verified. */
export function claimedOwner(userAgent: string): OwnerName | null {
  const known = KNOWN_CRAWLERS[knownCrawlerIndex(userAgent)]
  if (known !== undefined) return known[3] ?? null
  const lower = userAgent.slice(0, READ_CHARS).toLowerCase()
  for (const [name, { pattern }] of OWNERS) {
    if (pattern !== undefined && matches(lower, pattern)) return name
  }
  return null
}

const OWNERS = Object.entries(CRAWLER_OWNERS) as [OwnerName, CrawlerOwner][]

function matches(lower: string, pattern: Pattern): boolean {
  return pattern.startsWith('^') ? lower.startsWith(pattern.slice(1)) : lower.includes(pattern)
}

export const CRAWLER_NAME_CHARS = 40

const NAME = /[a-z0-9._-]*(?:bot|crawl|spider|slurp|preview|archiv|fetcher|indexer)[a-z0-9._-]*/i

/** The table's name, a word of the user agent in ASCII, or `unnamed`. URLs are skipped. */
export function crawlerName(userAgent: string): string {
  const known = KNOWN_CRAWLERS[knownCrawlerIndex(userAgent)]
  if (known !== undefined) return known[0]
  const words = userAgent.slice(0, READ_CHARS).replace(/\+?https?:\S*/gi, '')
  const word = NAME.exec(words)?.[0] ?? words.trim().split(/[\s/;(]/, 1)[0] ?? ''
  const name = word
    .replace(/[^\x20-\x7e]+/g, '')
    .replace(/[/.\s-][\d/.\s-]*$/, '')
    .trim()
  return name.slice(0, CRAWLER_NAME_CHARS) || 'unnamed'
}
