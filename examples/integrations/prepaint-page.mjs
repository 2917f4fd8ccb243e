// Asks Prepaint for the page of one request. For Node 18+, Cloudflare Workers, and whatever else has `fetch`.

/** What browsers load for a page, and files. */
const ASSET =
  /\.(?:js|mjs|css|map|json|xml|txt|png|jpe?g|gif|svg|ico|webp|avif|woff2?|ttf|otf|mp[34]|webm|pdf|zip|gz|wasm|webmanifest)$/i

/** Wide on purpose: Prepaint looks closer. It only spares people the way. nginx.conf has the same. */
const CRAWLER =
  /(?<!cu)bots?(?:\b|_)|botify|crawl|spider|slurp|preview|fetcher|archiv|externalhit|externalagent|webindexer|facebookcatalog|imgproxy|scrap\b|line-poker|embedly|iframely|^whatsapp\/|vkshare|pinterest\/0|bluesky|^mastodon\/|^tumblr\/|flipboardproxy|google-(?!pagespeed)|-google|googleother|chatgpt|claude-|anthropic|perplexity|cohere-|mistralai|xing-contenttab|yahoo link|yahoomailproxy|amazon-quick|lightpanda\/|owler@|^owler\/|miniature\.io\/|gemini-deep|cotoyogi|yandex(?:images|direct|metrika)|naver\.me|qwantify|daumoa|screaming frog|barkrowler|ahrefssiteaudit|seokicks|sistrix|sitebulb|lumar|megaindex|heritrix|^feedly\/|w3c_validator/i

/** Whether it is worth asking: a page, for somebody who may be a crawler, and not Prepaint's own renderer. */
export function mayBeForUs(request) {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false
  if (request.headers.has('x-prerender')) return false
  return CRAWLER.test(request.headers.get('user-agent') ?? '') && !ASSET.test(new URL(request.url).pathname)
}

/**
 * The page for a `Request`, as a `Response`; null: use the origin. Never rejects,
 * and never takes longer than `waitMs`. `url`: where visitors see the page.
 */
export async function prepaintPage(request, { service, key, url = request.url, waitMs = 15_000 }) {
  try {
    const answer = await fetch(`${service.replace(/\/+$/, '')}/api/render`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url, user_agent: request.headers.get('user-agent') ?? '' }),
      signal: AbortSignal.timeout(waitMs),
    })
    // To its end, also when it is no page: only a whole one is an answer.
    const body = await answer.arrayBuffer()
    const status = Number(answer.headers.get('x-prepaint-status'))
    if (answer.status !== 200 || status === 0) return null

    const headers = new Headers(answer.headers)
    // `fetch` has unpacked it; of the connection to us nothing goes on.
    for (const name of [
      'content-encoding',
      'content-length',
      'transfer-encoding',
      'connection',
      'keep-alive',
    ]) {
      headers.delete(name)
    }
    return new Response(request.method === 'HEAD' || body.byteLength === 0 ? null : body, { status, headers })
  } catch {
    return null
  }
}
