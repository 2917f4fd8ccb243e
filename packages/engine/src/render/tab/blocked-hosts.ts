/** Renders would count as visits there. Tag managers are not blocked: pages build content with them. */
const BLOCKED_HOSTS: readonly string[] = [
  ...['google-analytics.com', 'googlesyndication.com', 'googleadservices.com', 'doubleclick.net'],
  ...['adservice.google.com', 'googleoptimize.com'],
  ...['connect.facebook.net', 'clarity.ms', 'bat.bing.com', 'snap.licdn.com', 'px.ads.linkedin.com'],
  ...['static.ads-twitter.com', 'analytics.twitter.com', 'analytics.tiktok.com', 'ct.pinterest.com'],
  ...['alb.reddit.com', 'tr.snapchat.com', 'analytics.yahoo.com', 'mc.yandex.ru', 'hm.baidu.com'],
  ...['plausible.io', 'matomo.cloud', 'mixpanel.com', 'amplitude.com', 'segment.com', 'segment.io'],
  ...['heapanalytics.com', 'posthog.com', 'statcounter.com', 'scorecardresearch.com', 'quantserve.com'],
  ...['chartbeat.com', 'parsely.com', 'newrelic.com', 'nr-data.net', 'datadoghq-browser-agent.com'],
  ...['browser-intake-datadoghq.com', 'ingest.sentry.io', 'bugsnag.com', 'static.cloudflareinsights.com'],
  ...['hotjar.com', 'hotjar.io', 'fullstory.com', 'mouseflow.com', 'crazyegg.com', 'logrocket.com'],
  ...['lr-ingest.com', 'smartlook.com', 'inspectlet.com'],
  ...['adnxs.com', 'adsrvr.org', 'amazon-adsystem.com', 'criteo.com', 'criteo.net', 'moatads.com'],
  ...['outbrain.com', 'taboola.com', 'pubmatic.com', 'rubiconproject.com', 'openx.net'],
  ...['intercom.io', 'intercomcdn.com', 'drift.com', 'driftt.com', 'tawk.to', 'crisp.chat'],
]

export function blockedUrlPatterns(): string[] {
  return BLOCKED_HOSTS.flatMap((host) => [`*://${host}/*`, `*://*.${host}/*`])
}
