import type { CrawlerCategory } from '../settings/domain-settings.ts'

/** A lower-case part of a user agent. With `^` in front it must be at the start. */
type Pattern = string

export type KnownCrawler = {
  /** Shown to owners, and kept in traffic figures. */
  name: string
  pattern: Pattern
  category: CrawlerCategory
  /** Whose published addresses and names verify this crawler. Without an owner, the crawler cannot be verified. */
  owner?: OwnerName
  /** Where the purpose of an AI crawler is documented. */
  source?: string
}

// Where companies say what their crawlers are for. ByteDance and Cohere publish nothing; directories of crawlers disagree.
const OPENAI = 'developers.openai.com/api/docs/bots'
const ANTHROPIC = 'support.claude.com/en/articles/8896518'
const PERPLEXITY = 'docs.perplexity.ai/docs/resources/perplexity-crawlers'
/** Says "improve our services" and nothing of training; directories of crawlers disagree. */
const AMAZON = 'developer.amazon.com/amazonbot'
const META = 'developers.facebook.com/docs/sharing/webmasters/web-crawlers'

/**
 * The only table of crawlers. The first match counts, because some crawlers name others (`TelegramBot (like TwitterBot)`).
 * Edge, traffic figures, robots.txt and verification read it; `docs/edge.md` and `examples/integrations` are tested against it.
 *
 * - `ai-training`: collects text for models
 * - `ai-search`: reads for the answers of an assistant
 * - `ai-user`: reads pages that an assistant's user asked for
 * - `ai`: an AI crawler whose purpose is unknown
 * - `social`: makes link previews
 * - `seo`: a tool for site owners
 * - `other`: archives, feeds, advertising, verification
 */
export const KNOWN_CRAWLERS: readonly KnownCrawler[] = [
  // Preview fetchers only: apps of the same name show pages to people.
  { name: 'Facebook', pattern: 'facebookexternalhit', category: 'social' },
  { name: 'Facebook catalog', pattern: 'facebookcatalog', category: 'social' },
  { name: 'Facebot', pattern: 'facebot', category: 'social' },
  { name: 'TelegramBot', pattern: 'telegrambot', category: 'social' },
  { name: 'Twitterbot', pattern: 'twitterbot', category: 'social' },
  { name: 'LinkedInBot', pattern: 'linkedinbot', category: 'social' },
  { name: 'Slackbot', pattern: 'slackbot', category: 'social' },
  { name: 'Slack images', pattern: 'slack-imgproxy', category: 'social' },
  { name: 'Discordbot', pattern: 'discordbot', category: 'social' },
  { name: 'WhatsApp', pattern: '^whatsapp/', category: 'social' },
  { name: 'Pinterestbot', pattern: 'pinterestbot', category: 'social', owner: 'pinterest' },
  { name: 'Pinterest', pattern: 'pinterest/0.', category: 'social', owner: 'pinterest' },
  { name: 'Redditbot', pattern: 'redditbot', category: 'social' },
  { name: 'Skype preview', pattern: 'skypeuripreview', category: 'social' },
  { name: 'VK', pattern: 'vkshare', category: 'social' },
  { name: 'Snapchat preview', pattern: 'snap url preview', category: 'social' },
  { name: 'Bluesky', pattern: 'bluesky cardyb', category: 'social' },
  { name: 'Mastodon', pattern: '^mastodon/', category: 'social' },
  { name: 'Iframely', pattern: 'iframely', category: 'social' },
  { name: 'Embedly', pattern: 'embedly', category: 'social' },
  { name: 'KakaoTalk', pattern: 'kakaotalk-scrap', category: 'social' },
  { name: 'LINE', pattern: 'line-poker', category: 'social' },
  { name: 'Viberbot', pattern: 'viberbot', category: 'social' },
  { name: 'Tumblr', pattern: '^tumblr/', category: 'social' },
  { name: 'Flipboardproxy', pattern: 'flipboardproxy', category: 'social' },
  { name: 'Microsoft Teams', pattern: 'msteams-preview', category: 'social' },
  { name: 'XING', pattern: 'xing-contenttabreceiver', category: 'social' },
  { name: 'Yahoo link preview', pattern: 'yahoo linkexpander', category: 'social' },
  { name: 'Yahoo link preview', pattern: 'yahoo link preview', category: 'social' },
  { name: 'Google page renderer', pattern: 'google-pagerenderer', category: 'social' },

  { name: 'GPTBot', pattern: 'gptbot', category: 'ai-training', owner: 'gptbot', source: OPENAI },
  {
    name: 'OAI-SearchBot',
    pattern: 'oai-searchbot',
    category: 'ai-search',
    owner: 'oai-searchbot',
    source: OPENAI,
  },
  {
    name: 'ChatGPT-User',
    pattern: 'chatgpt-user',
    category: 'ai-user',
    owner: 'chatgpt-user',
    source: OPENAI,
  },
  { name: 'ClaudeBot', pattern: 'claudebot', category: 'ai-training', source: ANTHROPIC },
  { name: 'Claude-User', pattern: 'claude-user', category: 'ai-user', source: ANTHROPIC },
  { name: 'Claude-SearchBot', pattern: 'claude-searchbot', category: 'ai-search', source: ANTHROPIC },
  { name: 'Claude-web', pattern: 'claude-web', category: 'ai' },
  { name: 'anthropic-ai', pattern: 'anthropic-ai', category: 'ai' },
  {
    name: 'PerplexityBot',
    pattern: 'perplexitybot',
    category: 'ai-search',
    owner: 'perplexitybot',
    source: PERPLEXITY,
  },
  {
    name: 'Perplexity-User',
    pattern: 'perplexity-user',
    category: 'ai-user',
    owner: 'perplexity-user',
    source: PERPLEXITY,
  },
  { name: 'Google-CloudVertexBot', pattern: 'google-cloudvertexbot', category: 'ai', owner: 'googlebot' },
  { name: 'Google NotebookLM', pattern: 'google-notebooklm', category: 'ai', owner: 'google-user-triggered' },
  { name: 'Meta-ExternalAgent', pattern: 'meta-externalagent', category: 'ai-training', source: META },
  { name: 'Meta-ExternalFetcher', pattern: 'meta-externalfetcher', category: 'ai-user', source: META },
  { name: 'Meta-WebIndexer', pattern: 'meta-webindexer', category: 'ai-search', source: META },
  { name: 'FacebookBot', pattern: 'facebookbot', category: 'ai' },
  { name: 'Amazonbot', pattern: 'amazonbot', category: 'ai-training', owner: 'amazonbot', source: AMAZON },
  {
    name: 'Bytespider',
    pattern: 'bytespider',
    category: 'ai-training',
    source: 'not the vendor: darkvisitors.com/agents/bytespider',
  },
  {
    name: 'CCBot',
    pattern: 'ccbot',
    category: 'ai-training',
    owner: 'ccbot',
    source: 'commoncrawl.org/ccbot',
  },
  {
    name: 'cohere-ai',
    pattern: 'cohere-ai',
    category: 'ai-training',
    source: 'not the vendor: darkvisitors.com/agents/cohere-ai',
  },
  { name: 'Diffbot', pattern: 'diffbot', category: 'ai' },
  {
    name: 'DuckAssistBot',
    pattern: 'duckassistbot',
    category: 'ai-search',
    owner: 'duckassistbot',
    source: 'duckduckgo.com/duckduckgo-help-pages/results/duckassistbot',
  },
  {
    name: 'MistralAI-User',
    pattern: 'mistralai-user',
    category: 'ai-user',
    owner: 'mistralai-user',
    source: 'docs.mistral.ai/robots',
  },
  { name: 'YouBot', pattern: 'youbot', category: 'ai' },
  { name: 'Timpibot', pattern: 'timpibot', category: 'ai' },
  { name: 'ImagesiftBot', pattern: 'imagesiftbot', category: 'ai' },
  { name: 'AI2Bot', pattern: 'ai2bot', category: 'ai-training', source: 'allenai.org/crawler' },
  { name: 'Phindbot', pattern: 'phindbot', category: 'ai' },
  {
    name: 'Amazon Quick',
    pattern: 'amazon-quick-on-behalf-of-',
    category: 'ai-user',
    source: 'docs.aws.amazon.com/quick/latest/userguide',
  },
  {
    name: 'Lightpanda',
    pattern: 'lightpanda/',
    category: 'ai-user',
    source: 'lightpanda.io: a browser for agents',
  },
  { name: 'Gemini Deep Research', pattern: 'gemini-deep-research', category: 'ai' },
  { name: 'PanguBot', pattern: 'pangubot', category: 'ai' },
  { name: 'Bedrockbot', pattern: 'bedrockbot', category: 'ai' },
  { name: 'Cotoyogi', pattern: 'cotoyogi', category: 'ai' },
  { name: 'PetalBot', pattern: 'petalbot', category: 'search', owner: 'petalbot' },

  // From a search company, but not for its index.
  { name: 'AdsBot-Google', pattern: 'adsbot-google', category: 'other', owner: 'googlebot' },
  { name: 'Mediapartners-Google', pattern: 'mediapartners-google', category: 'other', owner: 'googlebot' },
  { name: 'Adidxbot', pattern: 'adidxbot', category: 'other', owner: 'bingbot' },
  {
    name: 'FeedFetcher-Google',
    pattern: '^feedfetcher-google',
    category: 'other',
    owner: 'google-user-triggered',
  },
  {
    name: 'Google site verification',
    pattern: 'google-site-verification',
    category: 'other',
    owner: 'google-user-triggered',
  },
  {
    name: 'Google Read Aloud',
    pattern: 'google-read-aloud',
    category: 'other',
    owner: 'google-user-triggered',
  },
  { name: 'Yandexdirect', pattern: 'yandexdirect', category: 'other', owner: 'yandex' },
  { name: 'Yandexmetrika', pattern: 'yandexmetrika', category: 'other', owner: 'yandex' },
  { name: 'BingPreview', pattern: 'bingpreview', category: 'search', owner: 'bingbot' },
  { name: 'Googlebot', pattern: 'googlebot', category: 'search', owner: 'googlebot' },
  { name: 'GoogleOther', pattern: 'googleother', category: 'search', owner: 'googlebot' },
  { name: 'Google-InspectionTool', pattern: 'google-inspectiontool', category: 'search', owner: 'googlebot' },
  { name: 'Storebot-Google', pattern: 'storebot-google', category: 'search', owner: 'googlebot' },
  { name: 'APIs-Google', pattern: 'apis-google', category: 'search', owner: 'googlebot' },
  { name: 'Bingbot', pattern: 'bingbot', category: 'search', owner: 'bingbot' },
  { name: 'Msnbot', pattern: 'msnbot', category: 'search', owner: 'bingbot' },
  { name: 'Yahoo Slurp', pattern: 'yahoo! slurp', category: 'search', owner: 'yahoo' },
  { name: 'Slurp', pattern: 'slurp', category: 'search' },
  { name: 'DuckDuckBot', pattern: 'duckduckbot', category: 'search', owner: 'duckduckbot' },
  { name: 'Applebot', pattern: 'applebot', category: 'search', owner: 'applebot' },
  { name: 'YandexBot', pattern: 'yandexbot', category: 'search', owner: 'yandex' },
  {
    name: 'Yandexrenderresourcesbot',
    pattern: 'yandexrenderresourcesbot',
    category: 'search',
    owner: 'yandex',
  },
  { name: 'Yandeximages', pattern: 'yandeximages', category: 'search', owner: 'yandex' },
  { name: 'Yandexmobilebot', pattern: 'yandexmobilebot', category: 'search', owner: 'yandex' },
  { name: 'Baiduspider', pattern: 'baiduspider', category: 'search', owner: 'baidu' },
  { name: 'Sogou', pattern: 'sogou web spider', category: 'search' },
  { name: 'Sogou', pattern: 'sogou inst spider', category: 'search' },
  { name: 'Sogou', pattern: 'sogou pic spider', category: 'search' },
  { name: 'Sogou', pattern: 'sogou news spider', category: 'search' },
  { name: 'Sogou', pattern: 'sogou video spider', category: 'search' },
  { name: 'Sogou', pattern: 'sogou spider', category: 'search' },
  { name: '360spider', pattern: '360spider', category: 'search' },
  { name: 'Haosouspider', pattern: 'haosouspider', category: 'search' },
  { name: 'Yisouspider', pattern: 'yisouspider', category: 'search' },
  { name: 'Naver', pattern: 'naver.me/spd', category: 'search' },
  { name: 'SeznamBot', pattern: 'seznambot', category: 'search', owner: 'seznam' },
  { name: 'Coccocbot', pattern: 'coccocbot', category: 'search' },
  { name: 'Qwantbot', pattern: 'qwantbot', category: 'search' },
  { name: 'Qwantify', pattern: 'qwantify', category: 'search' },
  { name: 'Mojeekbot', pattern: 'mojeekbot', category: 'search' },
  { name: 'Bravebot', pattern: 'bravebot', category: 'search' },
  { name: 'Kagibot', pattern: 'kagibot', category: 'search' },
  { name: 'Ecosia', pattern: 'ecosia-bot', category: 'search' },
  { name: 'Owler', pattern: 'owler@ows.eu', category: 'search' },
  { name: 'Owler', pattern: '^owler/', category: 'search' },
  { name: 'Daumoa', pattern: 'daumoa', category: 'search' },

  { name: 'AhrefsBot', pattern: 'ahrefsbot', category: 'seo', owner: 'ahrefs' },
  { name: 'AhrefsSiteAudit', pattern: 'ahrefssiteaudit', category: 'seo', owner: 'ahrefs' },
  { name: 'SemrushBot', pattern: 'semrushbot', category: 'seo' },
  { name: 'Semrush site audit', pattern: 'siteauditbot', category: 'seo' },
  { name: 'Mj12bot', pattern: 'mj12bot', category: 'seo' },
  { name: 'DotBot', pattern: 'dotbot', category: 'seo' },
  { name: 'Rogerbot', pattern: 'rogerbot', category: 'seo' },
  { name: 'Screaming Frog', pattern: 'screaming frog', category: 'seo' },
  { name: 'DataForSeoBot', pattern: 'dataforseobot', category: 'seo' },
  { name: 'BLEXBot', pattern: 'blexbot', category: 'seo' },
  { name: 'Barkrowler', pattern: 'barkrowler', category: 'seo' },
  { name: 'serpstatbot', pattern: 'serpstatbot', category: 'seo' },
  { name: 'SEOkicks', pattern: 'seokicks', category: 'seo' },
  { name: 'Seobilitybot', pattern: 'seobilitybot', category: 'seo' },
  { name: 'Sistrix', pattern: 'sistrix', category: 'seo' },
  { name: 'Xovibot', pattern: 'xovibot', category: 'seo' },
  { name: 'OnCrawl', pattern: 'oncrawl', category: 'seo' },
  { name: 'Botify', pattern: 'botify', category: 'seo' },
  { name: 'Sitebulb', pattern: 'sitebulb', category: 'seo' },
  { name: 'Deepcrawl', pattern: 'deepcrawl', category: 'seo' },
  { name: 'Lumar', pattern: 'lumar', category: 'seo' },
  { name: 'Linkdexbot', pattern: 'linkdexbot', category: 'seo' },
  { name: 'MegaIndex', pattern: 'megaindex', category: 'seo' },
  { name: 'Mauibot', pattern: 'mauibot', category: 'seo' },

  { name: 'Internet Archive', pattern: 'archive.org_bot', category: 'other' },
  { name: 'ia_archiver', pattern: 'ia_archiver', category: 'other' },
  { name: 'Heritrix', pattern: 'heritrix', category: 'other' },
  { name: 'Feedly', pattern: '^feedly/', category: 'other' },
  { name: 'Yahoo Mail images', pattern: 'yahoomailproxy', category: 'other' },
  { name: 'Miniature.io', pattern: 'miniature.io/', category: 'other' },
  { name: 'W3C validator', pattern: 'w3c_validator', category: 'other' },
]

type CrawlerOwner = {
  /** The domains of the owner's reverse DNS names. If there are none, only published address ranges verify. */
  hosts: readonly string[]
  /** Crawlers of this owner that the table does not list. */
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

const OWNERS = Object.entries(CRAWLER_OWNERS) as [OwnerName, CrawlerOwner][]

/** Only this many characters of a user agent are read. */
export const READ_CHARS = 512

/**
 * Returns the index of the first crawler in KNOWN_CRAWLERS that matches, or -1. Compares every pattern: 7 µs for an
 * unknown user agent. Callers on a hot path remember the result.
 */
export function knownCrawlerIndex(userAgent: string): number {
  const lower = userAgent.slice(0, READ_CHARS).toLowerCase()
  return KNOWN_CRAWLERS.findIndex(({ pattern }) => matches(lower, pattern))
}

export function knownCrawler(userAgent: string): KnownCrawler | undefined {
  return KNOWN_CRAWLERS[knownCrawlerIndex(userAgent)]
}

/** Returns the crawler's name, or `other` for one that is not on the list. */
export function crawlerNamed(userAgent = ''): string {
  return knownCrawler(userAgent)?.name ?? 'other'
}

/** Returns the owner that a user agent claims, or null if it claims none that can be verified. */
export function claimedOwner(userAgent: string): OwnerName | null {
  const known = knownCrawler(userAgent)
  if (known !== undefined) return known.owner ?? null
  const lower = userAgent.slice(0, READ_CHARS).toLowerCase()
  for (const [name, { pattern }] of OWNERS) {
    if (pattern !== undefined && matches(lower, pattern)) return name
  }
  return null
}

function matches(lower: string, pattern: Pattern): boolean {
  return pattern.startsWith('^') ? lower.startsWith(pattern.slice(1)) : lower.includes(pattern)
}

/** Crawlers that contain one of these words, in this spelling, are phones: see `devices` in docs/edge.md. */
const PHONE_WORDS = ['Mobile', 'Android']

export function isPhoneAgent(userAgent: string): boolean {
  return PHONE_WORDS.some((word) => userAgent.includes(word))
}

export const CRAWLER_NAME_CHARS = 40

const NAME = /[a-z0-9._-]*(?:bot|crawl|spider|slurp|preview|archiv|fetcher|indexer)[a-z0-9._-]*/i

/** Returns the table's name, else a word of the user agent in ASCII, else `unnamed`. URLs are skipped. */
export function crawlerName(userAgent: string): string {
  const known = knownCrawler(userAgent)
  if (known !== undefined) return known.name
  const words = userAgent.slice(0, READ_CHARS).replace(/\+?https?:\S*/gi, '')
  const word = NAME.exec(words)?.[0] ?? words.trim().split(/[\s/;(]/, 1)[0] ?? ''
  const name = word
    .replace(/[^\x20-\x7e]+/g, '')
    .replace(/[/.\s-][\d/.\s-]*$/, '')
    .trim()
  return name.slice(0, CRAWLER_NAME_CHARS) || 'unnamed'
}
