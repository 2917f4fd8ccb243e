import { setTimeout as delay } from 'node:timers/promises'
import { serve } from '../support/loopback.ts'

export type VersionOrigin = Awaited<ReturnType<typeof startVersionOrigin>>

export type Shown = { version: number; host: string; path: string }

/** What pages do first that try to leave something behind, by path: workers, storage, memory, frames. */
export const HOSTILE: Record<string, string> = {
  '/hostile/workers': `for (let n = 0; n < 4; n++) new Worker(URL.createObjectURL(new Blob(['for (;;);'])))`,
  '/hostile/storage': `localStorage.all = 'x'.repeat(4e6)
    const request = indexedDB.open('soak', 1); request.onupgradeneeded = () => request.result.createObjectStore('s')
    request.onsuccess = () => request.result.transaction('s', 'readwrite').objectStore('s').put(new Blob(['z'.repeat(1e6)]), 1)`,
  '/hostile/memory': `window.held = new Uint8Array(6e7).fill(1)`,
  '/hostile/frames': `for (let n = 0; n < 60; n++) document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: '<script>setInterval(() => {}, 10)</' + 'script>' }))`,
}

const document = (
  script: string,
) => `<!doctype html><html><head><title>site</title></head><body><main id="shown"></main><script>
${script}
fetch('/version').then((answer) => answer.text()).then((version) => {
  document.getElementById('shown').textContent =
    'shows version ' + version + ' at ' + location.host + location.pathname
})
</script></body></html>`

/** A client-rendered site: every page says which version of the site it shows, at which host and path. */
export async function startVersionOrigin() {
  let version = 1
  const { url, close } = await serve(async (request, response) => {
    if (request.url !== '/version') {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      return void response.end(document(HOSTILE[request.url ?? ''] ?? ''))
    }
    // Read first, sent later: an answer under way while the site changes is the old one.
    const answer = String(version)
    await delay(20)
    response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-store' }).end(answer)
  })
  /** `change`: the number of the new version. */
  return { url, change: () => ++version, close }
}

/** What a snapshot of the site says; null when it is not one. */
export function shownIn(html: string): Shown | null {
  const match = />shows version (\d+) at ([a-z0-9.-]+)(\/[^<]*)</.exec(html)
  return match === null ? null : { version: Number(match[1]), host: match[2]!, path: match[3]! }
}
