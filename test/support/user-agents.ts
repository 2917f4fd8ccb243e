import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'

const CHROME_DESKTOP =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const ANDROID =
  'Mozilla/5.0 (Linux; Android 14; SM-S918B Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.6778.39 Mobile Safari/537.36'
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_6_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148'
const MAC_SAFARI =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15'
const NEXUS =
  'Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.6778.69 Mobile Safari/537.36'

export const CRAWLER_AGENTS: Record<CrawlerCategory, readonly string[]> = {
  search: [
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    `${NEXUS} (compatible; Googlebot/2.1; +http://www.google.com/bot.html)`,
    'Mozilla/5.0 (X11; Linux x86_64; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0.3945.88 Safari/537.36',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 8_1 like Mac OS X) AppleWebKit/600.1.4 (KHTML, like Gecko) Version/8.0 Mobile/12B411 Safari/600.1.4 (compatible; YandexMobileBot/3.0; +http://yandex.com/bots)',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)',
    'Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)',
    'Mozilla/5.0 (compatible; Yeti/1.1; +http://naver.me/spd)',
    'Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)',
  ],
  ai: [
    'Mozilla/5.0 (Windows; U; Windows NT 5.1; en-US; rv:1.9.1.2) Gecko/20090729 Firefox/3.5.2 (.NET CLR 3.5.30729; Diffbot/0.1; +http://www.diffbot.com)',
  ],
  'ai-training': [
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
    'meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36',
    'Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)',
    'CCBot/2.0 (https://commoncrawl.org/faq/)',
    'cohere-ai',
    'Mozilla/5.0 (compatible) Ai2Bot-Dolma (+https://www.allenai.org/crawler)',
  ],
  'ai-search': [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36; compatible; OAI-SearchBot/1.0; +https://openai.com/searchbot',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)',
    'DuckAssistBot/1.2; (+http://duckduckgo.com/duckassistbot.html)',
  ],
  'ai-user': [
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ChatGPT-User/1.0; +https://openai.com/bot)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)',
    'meta-externalfetcher/1.1',
    'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; MistralAI-User/1.0; +https://docs.mistral.ai/robots)',
  ],
  social: [
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'facebookexternalhit/1.1;line-poker/1.0',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'WhatsApp/2.23.20.0',
    'TelegramBot (like TwitterBot)',
    'Mastodon/4.2.1 (http.rb/5.1.1; +https://mastodon.social/)',
    'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
    `${MAC_SAFARI} (compatible; Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots)`,
    'Tumblr/14.0.835.186',
  ],
  seo: ['Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)'],
  other: [
    'Mozilla/5.0 (compatible; SomeNewThingBot/0.1; +https://example.com/bot)',
    'AdsBot-Google (+http://www.google.com/adsbot.html)',
    'FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)',
    'Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)',
  ],
}

/** Browsers of people, including those inside apps. */
export const PEOPLE_AGENTS: readonly string[] = [
  CHROME_DESKTOP,
  CHROME_DESKTOP.replace('Safari', 'coc_coc_browser/131.0 Safari'),
  MAC_SAFARI,
  `${IPHONE} Version/17.6 Safari/604.1`,
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
  // The name of a phone that holds `bot`.
  'Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36',
  `${IPHONE} [FBAN/FBIOS;FBAV/440.0.0.32.106;FBBV/549227456;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS;FBSV/17.6.1;FBSS/3;FBCR/;FBID/phone;FBLC/en_US;FBOP/80]`,
  `${ANDROID} [FB_IAB/FB4A;FBAV/440.0.0.32.115;]`,
  `${IPHONE} Twitter for iPhone/10.67`,
  `${IPHONE} [LinkedInApp]/9.29.8962`,
  `${ANDROID} [Pinterest/Android]`,
  `${IPHONE} [Pinterest/iOS]`,
  `${IPHONE} Snapchat/13.10.0.45 (like Safari/8618.3.11.10.7, panda)`,
  `${ANDROID} Line/14.19.0/IAB`,
  `${ANDROID} KAKAOTALK 25.1.0`,
  `${ANDROID} NAVER(inapp; search; 2000; 12.8.2)`,
  `${IPHONE} baiduboxapp/13.71.0.10 (Baidu; P2 17.6)`,
  `${IPHONE} Reddit/Version 2024.47.0/Build 620058/iOS Version 17.6.1`,
  `${ANDROID} YandexSearch/24.110`,
  `${CHROME_DESKTOP.replace('Chrome/131.0.0.0', 'Slack/4.41.97 Chrome/131.0.0.0 Electron/33.2.1')} AppleSilicon Sonic Slack_SSB/4.41.97`,
  CHROME_DESKTOP.replace('Chrome/', 'discord/1.0.9173 Chrome/').replace('Safari', 'Electron/32.2.2 Safari'),
  CHROME_DESKTOP.replace('Chrome/', 'Teams/1.7.00.33761 Chrome/'),
  `${IPHONE} Tumblr/33.3`,
  'MyShop/3.2.1',
]

/** Programs that want what people get, or measure it. */
export const TOOL_AGENTS: readonly string[] = [
  'curl/8.5.0',
  'node',
  'python-requests/2.31.0',
  'Go-http-client/1.1',
  CHROME_DESKTOP.replace('Chrome/', 'HeadlessChrome/'),
  `${CHROME_DESKTOP} Chrome-Lighthouse`,
  'Mozilla/5.0 (Linux; Android 11; moto g power (2022)) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36 Google-PageSpeed Insights',
  'Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)',
  'Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)',
]
