// A viewer-request function of CloudFront (runtime 2.0): crawlers get finished pages: see docs/integrations/cloudfront.md.
// The behaviour uses an origin group: first `prepaint`, then `app` on 403, 404 and 500 to 504.
// Replace: www.example.com, pp_site_TOKEN.
import cf from 'cloudfront'

const CRAWLER =
  /(?<!cu)bots?(?:\b|_)|botify|crawl|spider|slurp|preview|fetcher|archiv|externalhit|externalagent|webindexer|facebookcatalog|imgproxy|scrap\b|line-poker|embedly|iframely|^whatsapp\/|vkshare|pinterest\/0|bluesky|^mastodon\/|^tumblr\/|flipboardproxy|google-(?!pagespeed)|-google|googleother|chatgpt|claude-|anthropic|perplexity|cohere-|mistralai|xing-contenttab|yahoo link|yahoomailproxy|amazon-quick|lightpanda\/|owler@|^owler\/|miniature\.io\/|gemini-deep|cotoyogi|yandex(?:images|direct|metrika)|naver\.me|qwantify|daumoa|screaming frog|barkrowler|ahrefssiteaudit|seokicks|sistrix|sitebulb|lumar|megaindex|heritrix|^feedly\/|w3c_validator/i
const ASSET =
  /\.(?:js|mjs|css|map|json|xml|txt|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|otf|mp[34]|webm|pdf|zip|gz|wasm|webmanifest)$/i

function isForPrepaint(request) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  // A request with X-Prerender is one of Prepaint's own renderer.
  if (request.headers['x-prerender'] !== undefined) return false
  const agent = request.headers['user-agent']
  return agent !== undefined && CRAWLER.test(agent.value) && !ASSET.test(request.uri)
}

// biome-ignore lint/correctness/noUnusedVariables: CloudFront calls it.
function handler(event) {
  const request = event.request
  if (!isForPrepaint(request)) {
    // No client says by itself that it is a crawler: the header is part of the cache key.
    delete request.headers['x-prerender-int-type']
    cf.selectRequestOriginById('app')
    return request
  }
  request.headers['x-prerender-int-type'] = { value: 'CloudFront' }
  request.cookies = {}
  // It concerns the first origin of the group only: the app is asked for the path as it is.
  cf.updateRequestOrigin({
    originPath: '/https://www.example.com',
    customHeaders: { 'X-Prerender-Token': 'pp_site_TOKEN' },
    timeouts: { connectionTimeout: 1, readTimeout: 14 },
    connectionAttempts: 1,
  })
  return request
}
