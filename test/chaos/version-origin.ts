import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../support/loopback.ts'

/**
 * A client-rendered site whose content changes: every page says which version
 * of the site it shows, and at which host and path it was rendered.
 */
export type VersionOrigin = {
  url: string
  /** The site changes; the number of its new version. */
  change(): number
  close(): Promise<void>
}

export type Shown = { version: number; host: string; path: string }

const document = (
  script: string,
) => `<!doctype html><html><head><title>site</title></head><body><main id="shown"></main><script>
${script}
fetch('/version').then((answer) => answer.text()).then((version) => {
  document.getElementById('shown').textContent =
    'shows version ' + version + ' at ' + location.host + location.pathname
})
</script></body></html>`

/** `scripts`: run in the pages with these paths, before the version is shown. */
export async function startVersionOrigin(scripts: Record<string, string> = {}): Promise<VersionOrigin> {
  let version = 1
  const { url, close } = await serve(async (request, response) => {
    if (request.url !== '/version') {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      return void response.end(document(scripts[request.url ?? ''] ?? ''))
    }
    // Read first, sent later: an answer under way while the site changes is the old one.
    const answer = String(version)
    await delay(20)
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(answer)
  })
  return { url, change: () => ++version, close }
}

/** What a snapshot of the site says; null when it is not one. */
export function shownIn(html: string): Shown | null {
  const match = />shows version (\d+) at ([a-z0-9.-]+)(\/[^<]*)</.exec(html)
  return match === null ? null : { version: Number(match[1]), host: match[2]!, path: match[3]! }
}
