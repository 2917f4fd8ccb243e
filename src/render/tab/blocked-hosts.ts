/**
 * Analytics, advertising, session recording and chat: not part of the content that crawlers read, and they would count
 * renders as visits. Includes subdomains. Tag managers that pages build content with are not blocked.
 */
const BLOCKED_HOSTS: readonly string[] = [
  ...['google-analytics.com', 'googlesyndication.com', 'googleadservices.com', 'doubleclick.net'],
  ...['adservice.google.com', 'googleoptimize.com'],
  // Meta, Microsoft, LinkedIn, X, TikTok, Pinterest, Reddit, Snap, Yahoo, Yandex, Baidu
  ...['connect.facebook.net', 'clarity.ms', 'bat.bing.com', 'snap.licdn.com', 'px.ads.linkedin.com'],
  ...['static.ads-twitter.com', 'analytics.twitter.com', 'analytics.tiktok.com', 'ct.pinterest.com'],
  ...['alb.reddit.com', 'tr.snapchat.com', 'analytics.yahoo.com', 'mc.yandex.ru', 'hm.baidu.com'],
  // Measuring
  ...['plausible.io', 'matomo.cloud', 'mixpanel.com', 'amplitude.com', 'segment.com', 'segment.io'],
  ...['heapanalytics.com', 'posthog.com', 'statcounter.com', 'scorecardresearch.com', 'quantserve.com'],
  ...['chartbeat.com', 'parsely.com', 'newrelic.com', 'nr-data.net', 'datadoghq-browser-agent.com'],
  ...['browser-intake-datadoghq.com', 'ingest.sentry.io', 'bugsnag.com', 'static.cloudflareinsights.com'],
  // Recording
  ...['hotjar.com', 'hotjar.io', 'fullstory.com', 'mouseflow.com', 'crazyegg.com', 'logrocket.com'],
  ...['lr-ingest.com', 'smartlook.com', 'inspectlet.com'],
  // Advertising
  ...['adnxs.com', 'adsrvr.org', 'amazon-adsystem.com', 'criteo.com', 'criteo.net', 'moatads.com'],
  ...['outbrain.com', 'taboola.com', 'pubmatic.com', 'rubiconproject.com', 'openx.net'],
  // Chat bubbles
  ...['intercom.io', 'intercomcdn.com', 'drift.com', 'driftt.com', 'tawk.to', 'crisp.chat'],
]

export function blockedUrlPatterns(): string[] {
  return BLOCKED_HOSTS.flatMap((host) => [`*://${host}/*`, `*://*.${host}/*`])
}
