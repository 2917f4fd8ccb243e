import type { CrawlerCategory } from '../settings/domain-settings.ts'

/** A lower-case part of a user agent. With `^` in front it must be at the start. */
type Pattern = string

export type KnownCrawler = {
  /** Shown to owners, and kept in traffic figures. */
  name: string
  pattern: Pattern
  /** The purpose of an AI crawler is part of it. */
  category: CrawlerCategory
  /** The company or project that runs it. */
  operator: string
  /** Its published addresses and names verify it, see `CRAWLER_OWNERS`. Without an owner it cannot be verified. */
  owner?: OwnerName
  /** Where it is documented, without `https://`. Where its operator says nothing, who does. */
  source: string
  /** User agents that were seen or documented. Empty if none is public. */
  examples: readonly string[]
}

/**
 * The only table of crawlers. ByteDance and Cohere publish nothing about the purpose of theirs; directories of crawlers disagree.
 * The first match counts, because some crawlers name others (`TelegramBot (like TwitterBot)`).
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
  // These name Facebook's crawler beside themselves.
  {
    name: 'KakaoTalk',
    pattern: 'kakaotalk-scrap',
    category: 'social',
    operator: 'Kakao',
    source: 'devtalk.kakao.com/t/scrap/33984',
    examples: ['facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984'],
  },
  {
    name: 'LINE',
    pattern: 'line-poker',
    category: 'social',
    operator: 'LY Corporation',
    source: 'help.line.me: previews of links',
    examples: ['facebookexternalhit/1.1;line-poker/1.0'],
  },
  // Preview fetchers only: apps of the same name show pages to people.
  {
    name: 'Facebook',
    pattern: 'facebookexternalhit',
    category: 'social',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/webmasters/crawler',
    examples: ['facebookexternalhit/1.1'],
  },
  {
    name: 'Facebook catalog',
    pattern: 'facebookcatalog',
    category: 'social',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/webmasters/web-crawlers',
    examples: ['facebookcatalog/1.0'],
  },
  {
    name: 'Facebot',
    pattern: 'facebot',
    category: 'social',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/best-practices#crawl',
    examples: ['Facebot/1.0'],
  },
  {
    name: 'TelegramBot',
    pattern: 'telegrambot',
    category: 'social',
    operator: 'Telegram',
    source: 'core.telegram.org/bots/webapps',
    examples: ['TelegramBot (like TwitterBot)'],
  },
  {
    name: 'Twitterbot',
    pattern: 'twitterbot',
    category: 'social',
    operator: 'X',
    source: 'dev.twitter.com/cards/getting-started',
    examples: ['Twitterbot/0.1'],
  },
  {
    name: 'LinkedInBot',
    pattern: 'linkedinbot',
    category: 'social',
    operator: 'LinkedIn',
    source: 'the address in its user agent: linkedin.com',
    examples: ['LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)'],
  },
  {
    name: 'Slackbot',
    pattern: 'slackbot',
    category: 'social',
    operator: 'Slack',
    source: 'api.slack.com/robots',
    examples: ['Slackbot 1.0 (+https://api.slack.com/robots)'],
  },
  {
    name: 'Slack images',
    pattern: 'slack-imgproxy',
    category: 'social',
    operator: 'Slack',
    source: 'api.slack.com/robots',
    examples: ['Slack-ImgProxy (+https://api.slack.com/robots)'],
  },
  {
    name: 'Discordbot',
    pattern: 'discordbot',
    category: 'social',
    operator: 'Discord',
    source: 'discordapp.com',
    examples: ['Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)'],
  },
  {
    name: 'WhatsApp',
    pattern: '^whatsapp/',
    category: 'social',
    operator: 'WhatsApp',
    source: 'whatsapp.com',
    examples: ['WhatsApp/2.16.1/i'],
  },
  {
    name: 'Pinterestbot',
    pattern: 'pinterestbot',
    category: 'social',
    operator: 'Pinterest',
    owner: 'pinterest',
    source: 'pinterest.com/bot.html',
    examples: ['Mozilla/5.0 (compatible; Pinterestbot/1.0; http://www.pinterest.com/bot.html)'],
  },
  {
    name: 'Pinterest',
    pattern: 'pinterest/0.',
    category: 'social',
    operator: 'Pinterest',
    owner: 'pinterest',
    source: 'pinterest.com/bot.html',
    examples: ['Pinterest/0.2 (+http://www.pinterest.com/bot.html)'],
  },
  {
    name: 'Redditbot',
    pattern: 'redditbot',
    category: 'social',
    operator: 'Reddit',
    source: 'reddit.com/feedback',
    examples: ['Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)'],
  },
  {
    name: 'Skype preview',
    pattern: 'skypeuripreview',
    category: 'social',
    operator: 'Microsoft',
    source: 'list of prerender-node on GitHub',
    examples: ['Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5'],
  },
  {
    name: 'VK',
    pattern: 'vkshare',
    category: 'social',
    operator: 'VK',
    source: 'vk.com/dev/Share',
    examples: ['Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)'],
  },
  {
    name: 'Snapchat preview',
    pattern: 'snap url preview',
    category: 'social',
    operator: 'Snap',
    source: 'snap.com',
    examples: ['Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots'],
  },
  {
    name: 'Bluesky',
    pattern: 'bluesky cardyb',
    category: 'social',
    operator: 'Bluesky',
    source: 'github.com/bluesky-social/social-app (bskyembed, cardyb)',
    examples: [
      'mozilla/5.0 applewebkit/537.36 (khtml, like gecko; compatible; bluesky cardyb/1.1; +mailto:support@bsky.app) chrome/w.x.y.z safari/537.36',
    ],
  },
  {
    name: 'Mastodon',
    pattern: '^mastodon/',
    category: 'social',
    operator: 'Mastodon',
    source: 'docs.joinmastodon.org',
    examples: ['Mastodon/4.2.1 (http.rb/5.1.1; +https://mastodon.social/)'],
  },
  {
    name: 'Iframely',
    pattern: 'iframely',
    category: 'social',
    operator: 'Iframely',
    source: 'iframely.com/docs/about',
    examples: ['Iframely/1.3.1 (+https://iframely.com/docs/about) Atlassian'],
  },
  {
    name: 'Embedly',
    pattern: 'embedly',
    category: 'social',
    operator: 'Embedly',
    source: 'support.embed.ly',
    examples: ['Embedly +support@embed.ly'],
  },
  {
    name: 'Viberbot',
    pattern: 'viberbot',
    category: 'social',
    operator: 'Rakuten Viber',
    source: 'list of prerender-node on GitHub',
    examples: [],
  },
  {
    name: 'Tumblr',
    pattern: '^tumblr/',
    category: 'social',
    operator: 'Automattic',
    source: 'automattic.com',
    examples: ['Tumblr/14.0.835.186'],
  },
  {
    name: 'Flipboardproxy',
    pattern: 'flipboardproxy',
    category: 'social',
    operator: 'Flipboard',
    source: 'about.flipboard.com/browserproxy',
    examples: ['Mozilla/5.0 (compatible; FlipboardProxy/1.1; +http://flipboard.com/browserproxy)'],
  },
  {
    name: 'Microsoft Teams',
    pattern: 'msteams-preview',
    category: 'social',
    operator: 'Microsoft',
    source: 'learn.microsoft.com/microsoftteams',
    examples: [],
  },
  {
    name: 'XING',
    pattern: 'xing-contenttabreceiver',
    category: 'social',
    operator: 'XING',
    source: 'dev.xing.com/plugins/share_button/docs',
    examples: ['XING-contenttabreceiver/2.0'],
  },
  {
    name: 'Yahoo link preview',
    pattern: 'yahoo linkexpander',
    category: 'social',
    operator: 'Yahoo',
    source: 'help.yahoo.com/kb/mail',
    examples: [],
  },
  {
    name: 'Yahoo link preview',
    pattern: 'yahoo link preview',
    category: 'social',
    operator: 'Yahoo',
    source: 'help.yahoo.com/kb/mail/yahoo-link-preview-SLN23615.html',
    examples: [
      'Mozilla/5.0 (compatible; Yahoo Link Preview; https://help.yahoo.com/kb/mail/yahoo-link-preview-SLN23615.html)',
    ],
  },
  {
    name: 'Google page renderer',
    pattern: 'google-pagerenderer',
    category: 'social',
    operator: 'Google',
    source: 'developers.google.com/+/web/snippet',
    examples: [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/56.0.2924.87 Safari/537.36 Google-PageRenderer Google (+https://developers.google.com/+/web/snippet/)',
    ],
  },

  {
    name: 'GPTBot',
    pattern: 'gptbot',
    category: 'ai-training',
    operator: 'OpenAI',
    owner: 'gptbot',
    source: 'developers.openai.com/api/docs/bots',
    examples: ['GPTBot/1.0 (+https://openai.com/gptbot)'],
  },
  {
    name: 'OAI-SearchBot',
    pattern: 'oai-searchbot',
    category: 'ai-search',
    operator: 'OpenAI',
    owner: 'oai-searchbot',
    source: 'developers.openai.com/api/docs/bots',
    examples: ['Mozilla/5.0 (compatible; OAI-SearchBot/1.0; +https://openai.com/searchbot)'],
  },
  {
    name: 'ChatGPT-User',
    pattern: 'chatgpt-user',
    category: 'ai-user',
    operator: 'OpenAI',
    owner: 'chatgpt-user',
    source: 'developers.openai.com/api/docs/bots',
    examples: ['ChatGPT-User/1.0'],
  },
  {
    name: 'ClaudeBot',
    pattern: 'claudebot',
    category: 'ai-training',
    operator: 'Anthropic',
    source: 'support.claude.com/en/articles/8896518',
    examples: ['ClaudeBot/1.0 (+https://www.anthropic.com/claudebot)'],
  },
  {
    name: 'Claude-User',
    pattern: 'claude-user',
    category: 'ai-user',
    operator: 'Anthropic',
    source: 'support.claude.com/en/articles/8896518',
    examples: ['Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)'],
  },
  {
    name: 'Claude-SearchBot',
    pattern: 'claude-searchbot',
    category: 'ai-search',
    operator: 'Anthropic',
    source: 'support.claude.com/en/articles/8896518',
    examples: [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-SearchBot/1.0; +https://www.anthropic.com)',
    ],
  },
  {
    name: 'Claude-web',
    pattern: 'claude-web',
    category: 'ai',
    operator: 'Anthropic',
    source: 'anthropic.com',
    examples: ['Claude-Web/1.0 (web crawler; +https://www.anthropic.com/; bots@anthropic.com)'],
  },
  {
    name: 'anthropic-ai',
    pattern: 'anthropic-ai',
    category: 'ai',
    operator: 'Anthropic',
    source: 'anthropic.com',
    examples: ['Mozilla/5.0 (compatible; anthropic-ai/1.0; +https://www.anthropic.com)'],
  },
  {
    name: 'PerplexityBot',
    pattern: 'perplexitybot',
    category: 'ai-search',
    operator: 'Perplexity',
    owner: 'perplexitybot',
    source: 'docs.perplexity.ai/docs/resources/perplexity-crawlers',
    examples: ['Mozilla/5.0 (compatible; PerplexityBot/1.0; +https://www.perplexity.ai/bot)'],
  },
  {
    name: 'Perplexity-User',
    pattern: 'perplexity-user',
    category: 'ai-user',
    operator: 'Perplexity',
    owner: 'perplexity-user',
    source: 'docs.perplexity.ai/docs/resources/perplexity-crawlers',
    examples: ['Perplexity-User/1.0'],
  },
  {
    name: 'Google-CloudVertexBot',
    pattern: 'google-cloudvertexbot',
    category: 'ai',
    operator: 'Google',
    owner: 'googlebot',
    source:
      'developers.google.com/search/docs/crawling-indexing/google-common-crawlers#google-cloudvertexbot',
    examples: [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Google-CloudVertexBot; +https://cloud.google.com/enterprise-search) Chrome/W.X.Y.Z Safari/537.36',
    ],
  },
  {
    name: 'Google NotebookLM',
    pattern: 'google-notebooklm',
    category: 'ai',
    operator: 'Google',
    owner: 'google-user-triggered',
    source: 'developers.google.com/search/docs/crawling-indexing/google-user-triggered-fetchers',
    examples: ['Mozilla/5.0 (compatible; Google-NotebookLM; +https://notebooklm.google.com/)'],
  },
  {
    name: 'Meta-ExternalAgent',
    pattern: 'meta-externalagent',
    category: 'ai-training',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/webmasters/web-crawlers',
    examples: ['meta-externalagent/1.1'],
  },
  {
    name: 'Meta-ExternalFetcher',
    pattern: 'meta-externalfetcher',
    category: 'ai-user',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/webmasters/web-crawlers',
    examples: ['meta-externalfetcher/1.1'],
  },
  {
    name: 'Meta-WebIndexer',
    pattern: 'meta-webindexer',
    category: 'ai-search',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/webmasters/web-crawlers',
    examples: ['meta-webindexer/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)'],
  },
  {
    name: 'FacebookBot',
    pattern: 'facebookbot',
    category: 'ai',
    operator: 'Meta',
    source: 'developers.facebook.com/docs/sharing/bot',
    examples: [
      'Mozilla/5.0 (compatible; FacebookBot/1.0; +https://developers.facebook.com/docs/sharing/webmasters/facebookbot/)',
    ],
  },
  {
    name: 'Amazonbot',
    pattern: 'amazonbot',
    category: 'ai-training',
    operator: 'Amazon',
    owner: 'amazonbot',
    source: 'developer.amazon.com/amazonbot',
    examples: ['Mozilla/5.0 (compatible; Amazonbot/1.0; +https://developer.amazon.com/support/amazonbot)'],
  },
  {
    name: 'Bytespider',
    pattern: 'bytespider',
    category: 'ai-training',
    operator: 'ByteDance',
    source: 'not the vendor: darkvisitors.com/agents/bytespider',
    examples: ['Mozilla/5.0 (compatible; Bytespider/1.0; +http://www.bytedance.com/spider)'],
  },
  {
    name: 'CCBot',
    pattern: 'ccbot',
    category: 'ai-training',
    operator: 'Common Crawl',
    owner: 'ccbot',
    source: 'commoncrawl.org/ccbot',
    examples: ['CCBot/2.0 (http://commoncrawl.org/faq/)'],
  },
  {
    name: 'cohere-ai',
    pattern: 'cohere-ai',
    category: 'ai-training',
    operator: 'Cohere',
    source: 'not the vendor: darkvisitors.com/agents/cohere-ai',
    examples: ['cohere-ai'],
  },
  {
    name: 'Diffbot',
    pattern: 'diffbot',
    category: 'ai',
    operator: 'Diffbot',
    source: 'diffbot.com',
    examples: [
      'Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US; rv:1.9.1.2) Gecko/20090729 Firefox/3.5.2 (.NET CLR 3.5.30729; Diffbot/0.1; +http://www.diffbot.com)',
    ],
  },
  {
    name: 'DuckAssistBot',
    pattern: 'duckassistbot',
    category: 'ai-search',
    operator: 'DuckDuckGo',
    owner: 'duckassistbot',
    source: 'duckduckgo.com/duckduckgo-help-pages/results/duckassistbot',
    examples: ['DuckAssistBot/1.2; (+http://duckduckgo.com/duckassistbot.html)'],
  },
  {
    name: 'MistralAI-User',
    pattern: 'mistralai-user',
    category: 'ai-user',
    operator: 'Mistral AI',
    owner: 'mistralai-user',
    source: 'docs.mistral.ai/robots',
    examples: [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; MistralAI-User/1.0; +https://docs.mistral.ai/robots)',
    ],
  },
  {
    name: 'YouBot',
    pattern: 'youbot',
    category: 'ai',
    operator: 'You.com',
    source: 'you.com',
    examples: ['YouBot (+http://www.you.com)'],
  },
  {
    name: 'Timpibot',
    pattern: 'timpibot',
    category: 'ai',
    operator: 'Timpi',
    source: 'timpi.io',
    examples: ['Timpibot/0.9 (+http://www.timpi.io)'],
  },
  {
    name: 'ImagesiftBot',
    pattern: 'imagesiftbot',
    category: 'ai',
    operator: 'The Hive',
    source: 'imagesift.com/about',
    examples: ['Mozilla/5.0 (compatible; ImagesiftBot; +imagesift.com)'],
  },
  {
    name: 'AI2Bot',
    pattern: 'ai2bot',
    category: 'ai-training',
    operator: 'Allen Institute for AI',
    source: 'allenai.org/crawler',
    examples: ['Mozilla/5.0 (compatible) Ai2Bot-Dolma (+https://www.allenai.org/crawler)'],
  },
  {
    name: 'Phindbot',
    pattern: 'phindbot',
    category: 'ai',
    operator: 'Phind',
    source: 'knownagents.com/agents/phindbot',
    examples: ['Mozilla/5.0 (compatible; PhindBot; +https://www.phind.com/)'],
  },
  {
    name: 'Amazon Quick',
    pattern: 'amazon-quick-on-behalf-of-',
    category: 'ai-user',
    operator: 'Amazon',
    source: 'docs.aws.amazon.com/quick/latest/userguide',
    examples: ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36; Amazon-Quick-on-Behalf-of-77'],
  },
  {
    name: 'Lightpanda',
    pattern: 'lightpanda/',
    category: 'ai-user',
    operator: 'Lightpanda',
    source: 'lightpanda.io: a browser for agents',
    examples: ['Lightpanda/1.0'],
  },
  {
    name: 'Gemini Deep Research',
    pattern: 'gemini-deep-research',
    category: 'ai',
    operator: 'Google',
    source: 'developers.google.com/search/docs/crawling-indexing/google-common-crawlers',
    examples: [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Gemini-Deep-Research; +https://gemini.google/overview/deep-research/) Chrome/135.0.0.0 Safari/537.36',
    ],
  },
  {
    name: 'PanguBot',
    pattern: 'pangubot',
    category: 'ai',
    operator: 'Huawei',
    source: 'datadome.co/bots/pangubot',
    examples: ['Mozilla/5.0 (compatible; PanguBot +https://www.pangutech.com)'],
  },
  {
    name: 'Bedrockbot',
    pattern: 'bedrockbot',
    category: 'ai',
    operator: 'Amazon',
    source: 'docs.aws.amazon.com/bedrock (web crawler data source)',
    examples: [],
  },
  {
    name: 'Cotoyogi',
    pattern: 'cotoyogi',
    category: 'ai',
    operator: 'ROIS',
    source: 'ds.rois.ac.jp/center8/crawler',
    examples: ['Mozilla/5.0 (compatible; Cotoyogi/4.0; +https://ds.rois.ac.jp/center8/crawler/)'],
  },
  {
    name: 'PetalBot',
    pattern: 'petalbot',
    category: 'search',
    operator: 'Huawei',
    owner: 'petalbot',
    source: 'webmaster.petalsearch.com/site/petalbot',
    examples: ['Mozilla/5.0 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)'],
  },

  // From a search company, but not for its index.
  {
    name: 'AdsBot-Google',
    pattern: 'adsbot-google',
    category: 'other',
    operator: 'Google',
    owner: 'googlebot',
    source: 'support.google.com/webmasters/answer/1061943?hl=en',
    examples: ['AdsBot-Google-Mobile-Apps'],
  },
  {
    name: 'Mediapartners-Google',
    pattern: 'mediapartners-google',
    category: 'other',
    operator: 'Google',
    owner: 'googlebot',
    source: 'support.google.com/webmasters/answer/1061943?hl=en',
    examples: ['Mediapartners-Google'],
  },
  {
    name: 'Adidxbot',
    pattern: 'adidxbot',
    category: 'other',
    operator: 'Microsoft',
    owner: 'bingbot',
    source: 'bing.com/bingbot.htm',
    examples: ['adidxbot/1.1 (+http://search.msn.com/msnbot.htm)'],
  },
  {
    name: 'FeedFetcher-Google',
    pattern: '^feedfetcher-google',
    category: 'other',
    operator: 'Google',
    owner: 'google-user-triggered',
    source: 'support.google.com/webmasters/answer/178852',
    examples: ['FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)'],
  },
  {
    name: 'Google site verification',
    pattern: 'google-site-verification',
    category: 'other',
    operator: 'Google',
    owner: 'google-user-triggered',
    source: 'support.google.com/webmasters/answer/9008080',
    examples: ['Mozilla/5.0 (compatible; Google-Site-Verification/1.0)'],
  },
  {
    name: 'Google Read Aloud',
    pattern: 'google-read-aloud',
    category: 'other',
    operator: 'Google',
    owner: 'google-user-triggered',
    source: 'developers.google.com/search/docs/crawling-indexing/overview-google-crawlers',
    examples: [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2272.118 Safari/537.36 (compatible; Google-Read-Aloud; +https://developers.google.com/search/docs/crawling-indexing/overview-google-crawlers)',
    ],
  },
  {
    name: 'Yandexdirect',
    pattern: 'yandexdirect',
    category: 'other',
    operator: 'Yandex',
    owner: 'yandex',
    source: 'yandex.ru/support/webmaster/robot-workings/check-yandex-robots.html#robot-in-logs',
    examples: ['Mozilla/5.0 (compatible; YandexDirect/3.0; +http://yandex.com/bots)'],
  },
  {
    name: 'Yandexmetrika',
    pattern: 'yandexmetrika',
    category: 'other',
    operator: 'Yandex',
    owner: 'yandex',
    source: 'yandex.ru/support/webmaster/robot-workings/check-yandex-robots.html#robot-in-logs',
    examples: ['Mozilla/5.0 (compatible; YandexMetrika/2.0; +http://yandex.com/bots)'],
  },
  {
    name: 'BingPreview',
    pattern: 'bingpreview',
    category: 'search',
    operator: 'Microsoft',
    owner: 'bingbot',
    source: 'bing.com/webmaster/help/which-crawlers-does-bing-use-8c184ec0',
    examples: ['Mozilla/5.0 (Windows NT 6.3; WOW64; Trident/7.0; rv:11.0; BingPreview/1.0b) like Gecko'],
  },
  {
    name: 'Googlebot',
    pattern: 'googlebot',
    category: 'search',
    operator: 'Google',
    owner: 'googlebot',
    source: 'google.com/bot.html',
    examples: ['Googlebot-News'],
  },
  {
    name: 'GoogleOther',
    pattern: 'googleother',
    category: 'search',
    operator: 'Google',
    owner: 'googlebot',
    source: 'developers.google.com/search/docs/crawling-indexing/overview-google-crawlers',
    examples: ['Mozilla/5.0 (compatible; GoogleOther-Image/1.0)'],
  },
  {
    name: 'Google-InspectionTool',
    pattern: 'google-inspectiontool',
    category: 'search',
    operator: 'Google',
    owner: 'googlebot',
    source: 'developers.google.com/search/docs/crawling-indexing/overview-google-crawlers',
    examples: ['Mozilla/5.0 (compatible; Google-InspectionTool/1.0)'],
  },
  {
    name: 'Storebot-Google',
    pattern: 'storebot-google',
    category: 'search',
    operator: 'Google',
    owner: 'googlebot',
    source: 'developers.google.com/search/docs/crawling-indexing/overview-google-crawlers',
    examples: [
      'Mozilla/5.0 (X11; Linux x86_64; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0.3945.88 Safari/537.36',
    ],
  },
  {
    name: 'APIs-Google',
    pattern: 'apis-google',
    category: 'search',
    operator: 'Google',
    owner: 'googlebot',
    source: 'support.google.com/webmasters/answer/1061943?hl=en',
    examples: ['APIs-Google (+https://developers.google.com/webmasters/APIs-Google.html)'],
  },
  {
    name: 'Bingbot',
    pattern: 'bingbot',
    category: 'search',
    operator: 'Microsoft',
    owner: 'bingbot',
    source: 'bing.com/bingbot.htm',
    examples: ['Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm'],
  },
  {
    name: 'Msnbot',
    pattern: 'msnbot',
    category: 'search',
    operator: 'Microsoft',
    owner: 'bingbot',
    source: 'search.msn.com/msnbot.htm',
    examples: ['MSNBot/Nutch-1.5.1'],
  },
  {
    name: 'Yahoo Slurp',
    pattern: 'yahoo! slurp',
    category: 'search',
    operator: 'Yahoo',
    owner: 'yahoo',
    source: 'help.yahoo.com/help/us/ysearch/slurp',
    examples: ['Mozilla/5.0 (compatible; Yahoo! Slurp China; http://misc.yahoo.com.cn/help.html)'],
  },
  {
    name: 'Slurp',
    pattern: 'slurp',
    category: 'search',
    operator: 'unknown: several crawlers have this name',
    source: 'help.yahoo.com/kb/search',
    examples: [],
  },
  {
    name: 'DuckDuckBot',
    pattern: 'duckduckbot',
    category: 'search',
    operator: 'DuckDuckGo',
    owner: 'duckduckbot',
    source: 'duckduckgo.com/duckduckbot.html',
    examples: ['DuckDuckBot/1.0; (+http://duckduckgo.com/duckduckbot.html)'],
  },
  {
    name: 'Applebot',
    pattern: 'applebot',
    category: 'search',
    operator: 'Apple',
    owner: 'applebot',
    source: 'apple.com/go/applebot',
    examples: ['Mozilla/5.0 (compatible; Applebot/0.3; +http://www.apple.com/go/applebot)'],
  },
  {
    name: 'YandexBot',
    pattern: 'yandexbot',
    category: 'search',
    operator: 'Yandex',
    owner: 'yandex',
    source: 'yandex.ru/support/webmaster/robot-workings/check-yandex-robots.html#robot-in-logs',
    examples: ['Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)'],
  },
  {
    name: 'Yandexrenderresourcesbot',
    pattern: 'yandexrenderresourcesbot',
    category: 'search',
    operator: 'Yandex',
    owner: 'yandex',
    source: 'yandex.com/bots',
    examples: [
      'Mozilla/5.0 (compatible; YandexRenderResourcesBot/1.0; +http://yandex.com/bots) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.0.0',
    ],
  },
  {
    name: 'Yandeximages',
    pattern: 'yandeximages',
    category: 'search',
    operator: 'Yandex',
    owner: 'yandex',
    source: 'yandex.ru/support/webmaster/robot-workings/check-yandex-robots.html#robot-in-logs',
    examples: ['Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)'],
  },
  {
    name: 'Yandexmobilebot',
    pattern: 'yandexmobilebot',
    category: 'search',
    operator: 'Yandex',
    owner: 'yandex',
    source: 'yandex.ru/support/webmaster/robot-workings/check-yandex-robots.html#robot-in-logs',
    examples: [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 8_1 like Mac OS X) AppleWebKit/600.1.4 (KHTML, like Gecko) Version/8.0 Mobile/12B411 Safari/600.1.4 (compatible; YandexMobileBot/3.0; +http://yandex.com/bots)',
    ],
  },
  {
    name: 'Baiduspider',
    pattern: 'baiduspider',
    category: 'search',
    operator: 'Baidu',
    owner: 'baidu',
    source: 'baidu.jp/spider',
    examples: ['Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)'],
  },
  {
    name: 'Sogou',
    pattern: 'sogou web spider',
    category: 'search',
    operator: 'Sogou',
    source: 'sogou.com/docs/help/webmasters.htm#07',
    examples: ['Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm'],
  },
  {
    name: 'Sogou',
    pattern: 'sogou inst spider',
    category: 'search',
    operator: 'Sogou',
    source: 'sogou.com/docs/help/webmasters.htm',
    examples: ['Sogou inst spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)'],
  },
  {
    name: 'Sogou',
    pattern: 'sogou pic spider',
    category: 'search',
    operator: 'Sogou',
    source: 'sogou.com/docs/help/webmasters.htm#07',
    examples: ['Sogou Pic Spider/3.0(+http://www.sogou.com/docs/help/webmasters.htm#07)'],
  },
  {
    name: 'Sogou',
    pattern: 'sogou news spider',
    category: 'search',
    operator: 'Sogou',
    source: 'sogou.com/docs/help/webmasters.htm#07',
    examples: ['Sogou News Spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)'],
  },
  {
    name: 'Sogou',
    pattern: 'sogou video spider',
    category: 'search',
    operator: 'Sogou',
    source: 'sogou.com/docs/help/webmasters.htm',
    examples: ['Sogou Video Spider/3.0(+http://www.sogou.com/docs/help/webmasters.htm#07)'],
  },
  {
    name: 'Sogou',
    pattern: 'sogou spider',
    category: 'search',
    operator: 'Sogou',
    source: 'sogou.com/docs/help/webmasters.htm',
    examples: [],
  },
  {
    name: '360spider',
    pattern: '360spider',
    category: 'search',
    operator: 'Qihoo 360',
    source: 'needs-be.blogspot.co.uk/2013/02/how-to-block-spider360.html',
    examples: ['Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0); 360Spider'],
  },
  {
    name: 'Haosouspider',
    pattern: 'haosouspider',
    category: 'search',
    operator: 'Qihoo 360',
    source: 'so.com/help/help_3_2.html',
    examples: ['Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0); HaosouSpider'],
  },
  {
    name: 'Yisouspider',
    pattern: 'yisouspider',
    category: 'search',
    operator: 'Shenma',
    source: 'zhanzhang.sm.cn',
    examples: [
      'Mozilla/5.0 (Windows NT 6.1; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/69.0.3497.81 YisouSpider/5.0 Safari/537.36',
    ],
  },
  {
    name: 'Naver',
    pattern: 'naver.me/spd',
    category: 'search',
    operator: 'Naver',
    source: 'naver.me/spd',
    examples: ['Mozilla/5.0 (compatible; Yeti/1.1; +http://naver.me/spd)'],
  },
  {
    name: 'SeznamBot',
    pattern: 'seznambot',
    category: 'search',
    operator: 'Seznam',
    owner: 'seznam',
    source: 'fulltext.sblog.cz',
    examples: ['SeznamBot/3.0 (+http://fulltext.sblog.cz/)'],
  },
  {
    name: 'Coccocbot',
    pattern: 'coccocbot',
    category: 'search',
    operator: 'Coc Coc',
    source: 'help.coccoc.vn',
    examples: ['Mozilla/5.0 (compatible; coccocbot/1.0; +http://help.coccoc.com/searchengine)'],
  },
  {
    name: 'Qwantbot',
    pattern: 'qwantbot',
    category: 'search',
    operator: 'Qwant',
    source: 'help.qwant.com',
    examples: ['Mozilla/5.0 (compatible; Qwantbot-news/2.0; +https://help.qwant.com/bot/)'],
  },
  {
    name: 'Qwantify',
    pattern: 'qwantify',
    category: 'search',
    operator: 'Qwant',
    source: 'qwant.com',
    examples: ['Mozilla/5.0 (compatible; Qwantify/2.0n; +https://www.qwant.com/)/*'],
  },
  {
    name: 'Mojeekbot',
    pattern: 'mojeekbot',
    category: 'search',
    operator: 'Mojeek',
    source: 'mojeek.com/bot.html',
    examples: ['MojeekBot/0.2 (archi; http://www.mojeek.com/bot.html)'],
  },
  {
    name: 'Bravebot',
    pattern: 'bravebot',
    category: 'search',
    operator: 'Brave',
    source: 'search.brave.com/help/web-discovery-project',
    examples: ['BraveBot / Mozilla/5.0 (compatible; BraveBot/1.0)'],
  },
  {
    name: 'Kagibot',
    pattern: 'kagibot',
    category: 'search',
    operator: 'Kagi',
    source: 'kagi.com',
    examples: ['Mozilla/5.0 (compatible; Kagibot/1.0; +https://kagi.com/bot)'],
  },
  {
    name: 'Ecosia',
    pattern: 'ecosia-bot',
    category: 'search',
    operator: 'Ecosia',
    source: 'ecosia.org',
    examples: [],
  },
  {
    name: 'Owler',
    pattern: 'owler@ows.eu',
    category: 'search',
    operator: 'OpenWebSearch.eu',
    source: 'openwebsearch.eu',
    examples: ['OWLer-W (owler@ows.eu)'],
  },
  {
    name: 'Owler',
    pattern: '^owler/',
    category: 'search',
    operator: 'OpenWebSearch.eu',
    source: 'ows.eu/owler',
    examples: ['Owler/0.1 (https://ows.eu/owler)'],
  },
  {
    name: 'Daumoa',
    pattern: 'daumoa',
    category: 'search',
    operator: 'Kakao',
    source: 'cs.daum.net/faq/15/4118.html?faqId=28966',
    examples: ['daumoa,damoa,daum,daumos,duamoa,duam,duamo'],
  },

  {
    name: 'AhrefsBot',
    pattern: 'ahrefsbot',
    category: 'seo',
    operator: 'Ahrefs',
    owner: 'ahrefs',
    source: 'ahrefs.com/robot',
    examples: ['Mozilla/5.0 (compatible; AhrefsBot/6.1; +http://ahrefs.com/robot/)'],
  },
  {
    name: 'AhrefsSiteAudit',
    pattern: 'ahrefssiteaudit',
    category: 'seo',
    operator: 'Ahrefs',
    owner: 'ahrefs',
    source: 'ahrefs.com/robot/site-audit',
    examples: ['Mozilla/5.0 (compatible; AhrefsSiteAudit/6.1; +http://ahrefs.com/robot/)'],
  },
  {
    name: 'SemrushBot',
    pattern: 'semrushbot',
    category: 'seo',
    operator: 'Semrush',
    source: 'semrush.com/bot.html',
    examples: ['Mozilla/5.0 (compatible; SemrushBot-BA; +http://www.semrush.com/bot.html)'],
  },
  {
    name: 'Semrush site audit',
    pattern: 'siteauditbot',
    category: 'seo',
    operator: 'Semrush',
    source: 'datadome.co/bots/siteauditbot',
    examples: ['Mozilla/5.0 (compatible; SiteAuditBot/1.1; +https://siteauditbot.com)'],
  },
  {
    name: 'Mj12bot',
    pattern: 'mj12bot',
    category: 'seo',
    operator: 'Majestic',
    source: 'majestic12.co.uk/bot.php',
    examples: ['MJ12bot/v1.2.0 (http://majestic12.co.uk/bot.php?+)'],
  },
  {
    name: 'DotBot',
    pattern: 'dotbot',
    category: 'seo',
    operator: 'Moz',
    source: 'opensiteexplorer.org/dotbot',
    examples: ['Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)'],
  },
  {
    name: 'Rogerbot',
    pattern: 'rogerbot',
    category: 'seo',
    operator: 'Moz',
    source: 'moz.com/help/pro/what-is-rogerbot-',
    examples: ['rogerbot/1.0 (http://www.moz.com/dp/rogerbot, rogerbot-crawler@moz.com)'],
  },
  {
    name: 'Screaming Frog',
    pattern: 'screaming frog',
    category: 'seo',
    operator: 'Screaming Frog',
    source: 'screamingfrog.co.uk/seo-spider',
    examples: ['Screaming Frog SEO Spider/5.1'],
  },
  {
    name: 'DataForSeoBot',
    pattern: 'dataforseobot',
    category: 'seo',
    operator: 'DataForSEO',
    source: 'dataforseo.com/dataforseo-bot',
    examples: ['Mozilla/5.0 (compatible; DataForSeoBot/1.0; +https://dataforseo.com/dataforseo-bot)'],
  },
  {
    name: 'BLEXBot',
    pattern: 'blexbot',
    category: 'seo',
    operator: 'WebMeUp',
    source: 'webmeup-crawler.com',
    examples: ['Mozilla/5.0 (compatible; BLEXBot/1.0; +http://webmeup-crawler.com/)'],
  },
  {
    name: 'Barkrowler',
    pattern: 'barkrowler',
    category: 'seo',
    operator: 'Babbar',
    source: 'exensa.com/crawl',
    examples: ['Barkrowler/0.7 (+http://www.exensa.com/crawl)'],
  },
  {
    name: 'serpstatbot',
    pattern: 'serpstatbot',
    category: 'seo',
    operator: 'Serpstat',
    source: 'serpstatbot.com',
    examples: [
      'serpstatbot/1.0 (advanced backlink tracking bot; http://serpstatbot.com/; abuse@serpstatbot.com)',
    ],
  },
  {
    name: 'SEOkicks',
    pattern: 'seokicks',
    category: 'seo',
    operator: 'SEOkicks',
    source: 'seokicks.de/robot.html',
    examples: ['Mozilla/5.0 (compatible; SEOkicks; +https://www.seokicks.de/robot.html)'],
  },
  {
    name: 'Seobilitybot',
    pattern: 'seobilitybot',
    category: 'seo',
    operator: 'Seobility',
    source: 'seobility.net/sites/bot.html',
    examples: ['SeobilityBot (SEO Tool; https://www.seobility.net/sites/bot.html)'],
  },
  {
    name: 'Sistrix',
    pattern: 'sistrix',
    category: 'seo',
    operator: 'Sistrix',
    source: 'sistrix.com/tutorials/crawling-errors-in-the-optimizer',
    examples: ['Mozilla/5.0 (compatible; SISTRIX Crawler; http://crawler.sistrix.net/)'],
  },
  {
    name: 'Xovibot',
    pattern: 'xovibot',
    category: 'seo',
    operator: 'Xovi',
    source: 'xovibot.net',
    examples: ['Mozilla/5.0 (compatible; XoviBot/2.0; +http://www.xovibot.net/)'],
  },
  {
    name: 'OnCrawl',
    pattern: 'oncrawl',
    category: 'seo',
    operator: 'OnCrawl',
    source: 'ionos.de/terms-gtc/faq-crawler-en',
    examples: ['IonCrawl (https://www.ionos.de/terms-gtc/faq-crawler-en/)'],
  },
  {
    name: 'Botify',
    pattern: 'botify',
    category: 'seo',
    operator: 'Botify',
    source: 'botify.com',
    examples: ['Mozilla/5.0 (compatible; botify; http://botify.com)'],
  },
  {
    name: 'Sitebulb',
    pattern: 'sitebulb',
    category: 'seo',
    operator: 'Sitebulb',
    source: 'sitebulb.com',
    examples: [
      'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6439.0 Mobile Safari/537.36 +https://sitebulb.com',
    ],
  },
  {
    name: 'Deepcrawl',
    pattern: 'deepcrawl',
    category: 'seo',
    operator: 'Lumar',
    source: 'lumar.io/spdr',
    examples: ['Mozilla/5.0 (compatible; MentalHealthLeadBot/DeepCrawl/1.0; +https://aiinstall.co)'],
  },
  {
    name: 'Lumar',
    pattern: 'lumar',
    category: 'seo',
    operator: 'Lumar',
    source: 'lumar.io',
    examples: [],
  },
  {
    name: 'Linkdexbot',
    pattern: 'linkdexbot',
    category: 'seo',
    operator: 'Linkdex',
    source: 'linkdex.com',
    examples: ['Mozilla/5.0 (compatible; linkdexbot/2.0; +http://www.linkdex.com/bots/)'],
  },
  {
    name: 'MegaIndex',
    pattern: 'megaindex',
    category: 'seo',
    operator: 'MegaIndex',
    source: 'megaindex.ru/?tab=linkAnalyze',
    examples: ['Mozilla/5.0 (compatible; MegaIndex.ru/2.0; +http://megaindex.com/crawler)'],
  },
  {
    name: 'Mauibot',
    pattern: 'mauibot',
    category: 'seo',
    operator: 'unknown',
    source: 'its user agent names an e-mail address only',
    examples: ['MauiBot (crawler.feedback+wc@gmail.com)'],
  },

  {
    name: 'Internet Archive',
    pattern: 'archive.org_bot',
    category: 'other',
    operator: 'Internet Archive',
    source: 'archive.org/details/archive.org_bot',
    examples: ['Mozilla/5.0 (compatible; archive.org_bot/heritrix-1.15.4 +http://www.archive.org)'],
  },
  {
    name: 'ia_archiver',
    pattern: 'ia_archiver',
    category: 'other',
    operator: 'Internet Archive',
    source: 'archive.org/details/archive.org_bot',
    examples: ['ia_archiver-web.archive.org'],
  },
  {
    name: 'Heritrix',
    pattern: 'heritrix',
    category: 'other',
    operator: 'Internet Archive',
    source: 'github.com/internetarchive/heritrix3/wiki',
    examples: ['Mozilla/5.0 (compatible; heritrix/2.0.2 +http://aihit.com)'],
  },
  {
    name: 'Feedly',
    pattern: '^feedly/',
    category: 'other',
    operator: 'Feedly',
    source: 'feedly.com/fetcher.html',
    examples: ['Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)'],
  },
  {
    name: 'Yahoo Mail images',
    pattern: 'yahoomailproxy',
    category: 'other',
    operator: 'Yahoo',
    source: 'help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
    examples: ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html'],
  },
  {
    name: 'Miniature.io',
    pattern: 'miniature.io/',
    category: 'other',
    operator: 'Miniature.io',
    source: 'miniature.io',
    examples: [
      'Mozilla/5.0 (X11; Linux x86_64) Miniature.io/6.0 AppleWebKit/537.36 (KHTML, like Gecko) QtWebEngine/5.12.4 Chrome/69.0.3497.128 Safari/537.36',
    ],
  },
  {
    name: 'W3C validator',
    pattern: 'w3c_validator',
    category: 'other',
    operator: 'W3C',
    source: 'validator.w3.org/services',
    examples: ['W3C_Validator/1.3'],
  },
  {
    name: 'EzoicBot',
    pattern: 'ezoicbot',
    category: 'other',
    operator: 'Ezoic',
    source: 'ezoic.com/bot',
    examples: ['Mozilla/5.0 (compatible; EzoicBot/1.0; +http://www.ezoic.com/bot)'],
  },
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
