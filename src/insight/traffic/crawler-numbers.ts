import { KNOWN_CRAWLERS } from '../../edge/crawlers/known-crawlers.ts'

/** How those of the kept list are written whose names are not what their user agents hold. */
const SPELT: Readonly<Record<string, string>> = {
  facebookexternalhit: 'Facebook',
  facebookcatalog: 'Facebook catalog',
  facebot: 'Facebot',
  telegrambot: 'TelegramBot',
  linkedinbot: 'LinkedInBot',
  'slack-imgproxy': 'Slack images',
  '^whatsapp/': 'WhatsApp',
  'pinterest/0.': 'Pinterest',
  skypeuripreview: 'Skype preview',
  vkshare: 'VK',
  'snap url preview': 'Snapchat preview',
  'bluesky cardyb': 'Bluesky',
  '^mastodon/': 'Mastodon',
  'kakaotalk-scrap': 'KakaoTalk',
  'line-poker': 'LINE',
  '^tumblr/': 'Tumblr',
  'msteams-preview': 'Microsoft Teams',
  'google-pagerenderer': 'Google page renderer',
  gptbot: 'GPTBot',
  'oai-searchbot': 'OAI-SearchBot',
  'chatgpt-user': 'ChatGPT-User',
  claudebot: 'ClaudeBot',
  'claude-user': 'Claude-User',
  'claude-searchbot': 'Claude-SearchBot',
  'anthropic-ai': 'anthropic-ai',
  perplexitybot: 'PerplexityBot',
  'perplexity-user': 'Perplexity-User',
  'google-extended': 'Google-Extended',
  'google-cloudvertexbot': 'Google-CloudVertexBot',
  'google-notebooklm': 'Google NotebookLM',
  'applebot-extended': 'Applebot-Extended',
  'meta-externalagent': 'Meta-ExternalAgent',
  'meta-externalfetcher': 'Meta-ExternalFetcher',
  'meta-webindexer': 'Meta-WebIndexer',
  facebookbot: 'FacebookBot',
  ccbot: 'CCBot',
  'cohere-ai': 'cohere-ai',
  duckassistbot: 'DuckAssistBot',
  'mistralai-user': 'MistralAI-User',
  youbot: 'YouBot',
  imagesiftbot: 'ImagesiftBot',
  ai2bot: 'AI2Bot',
  'gemini-deep-research': 'Gemini Deep Research',
  pangubot: 'PanguBot',
  petalbot: 'PetalBot',
  'adsbot-google': 'AdsBot-Google',
  'mediapartners-google': 'Mediapartners-Google',
  'feedfetcher-google': 'FeedFetcher-Google',
  'google-site-verification': 'Google site verification',
  'google-read-aloud': 'Google Read Aloud',
  bingpreview: 'BingPreview',
  googleother: 'GoogleOther',
  'google-inspectiontool': 'Google-InspectionTool',
  'storebot-google': 'Storebot-Google',
  'apis-google': 'APIs-Google',
  duckduckbot: 'DuckDuckBot',
  slurp: 'Yahoo Slurp',
  yandexbot: 'YandexBot',
  'sogou web spider': 'Sogou',
  'naver.me/spd': 'Naver',
  seznambot: 'SeznamBot',
  'ecosia-bot': 'Ecosia',
  ahrefsbot: 'AhrefsBot',
  ahrefssiteaudit: 'AhrefsSiteAudit',
  semrushbot: 'SemrushBot',
  siteauditbot: 'Semrush site audit',
  dotbot: 'DotBot',
  'screaming frog': 'Screaming Frog',
  dataforseobot: 'DataForSeoBot',
  blexbot: 'BLEXBot',
  serpstatbot: 'serpstatbot',
  seokicks: 'SEOkicks',
  oncrawl: 'OnCrawl',
  megaindex: 'MegaIndex',
  'archive.org_bot': 'Internet Archive',
  ia_archiver: 'ia_archiver',
  '^feedly/': 'Feedly',
  w3c_validator: 'W3C validator',
}

/** All names there can be, by their numbers; the last is that of crawlers without one. */
export const CRAWLER_NAMES: readonly string[] = [
  ...KNOWN_CRAWLERS.map(([holds]) => SPELT[holds] ?? `${holds[0]!.toUpperCase()}${holds.slice(1)}`),
  'other',
]
export const OTHER_CRAWLER = CRAWLER_NAMES.length - 1

/** Longer ones are cut, as everywhere. */
const READ_CHARS = 512
/** User agents that are remembered; then all are forgotten, which costs those that come again one look. */
const REMEMBERED = 5_000

/**
 * Gives the number of a crawler's name in `CRAWLER_NAMES`. Only names of the
 * kept list are told apart: whoever invents user agents is `other`.
 */
export function createCrawlerNames(): (userAgent: string | undefined) => number {
  const seen = new Map<string, number>()

  function look(userAgent: string): number {
    const lower = userAgent.slice(0, READ_CHARS).toLowerCase()
    const at = KNOWN_CRAWLERS.findIndex(([holds]) =>
      holds.startsWith('^') ? lower.startsWith(holds.slice(1)) : lower.includes(holds),
    )
    return at === -1 ? OTHER_CRAWLER : at
  }

  return (userAgent) => {
    if (userAgent === undefined) return OTHER_CRAWLER
    const known = seen.get(userAgent)
    if (known !== undefined) return known
    const name = look(userAgent)
    if (seen.size >= REMEMBERED) seen.clear()
    if (userAgent.length <= READ_CHARS) seen.set(userAgent, name)
    return name
  }
}
