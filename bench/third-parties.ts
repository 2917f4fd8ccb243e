import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import https from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { BLOCK_LISTS } from '@prepaint/contract/rules/schema.ts'
import { createHostBlock } from '@prepaint/engine/gateway/host-block.ts'
import { createSelfSigned } from '@prepaint/engine/gateway/tls-key.ts'
import { page } from '../test/render/corpus-page.ts'

/** What each host's script does. The first is blocked for every render, the others by a rule's lists only. */
const EMBEDDED: Record<string, string> = {
  'www.google-analytics.com': `fetch(here + 'collect').then(() => fetch(here + 'collect2'))`,
  'cdn.mxpnl.com': `load(here + 'modules.js')`,
  'cdn.optimizely.com': `fetch(here + 'settings').then(() => load(here + 'plugin.js'))`,
  'a.teads.tv': `fetch(here + 'slots').then(() => show('Advertisement'))`,
  'static.yieldmo.com': `load(here + 'bidder.js')`,
  'static.zdassets.com': `fetch(here + 'boot').then(() => load(here + 'snippet.js'))`,
  'player.vimeo.com': `load(here + 'player.js')`,
  'use.typekit.net': `load(here + 'fonts.js')`,
  'cdn.cookielaw.org': `fetch(here + 'banner').then(() => show('Cookies?', 'onetrust-consent-sdk'))`,
}
/** Shown by those scripts: none of it is the page's content. */
export const EMBEDDED_WORDS: ReadonlySet<string> = new Set(['Advertisement', 'Cookies'])
const SHOP = ['www.google-analytics.com', 'cdn.mxpnl.com', 'static.zdassets.com', 'cdn.cookielaw.org']
/** Their answers are the page's content, whatever they are called. */
const CONTENT = [
  'analytics.reports.example',
  'ads.classifieds.example',
  'tracking.parcels.example',
  'cookie.recipes.example',
]

/** The gateway lets pages reach the ports of the web only: needs root. */
const OTHERS = '127.0.0.44'
const ANSWER_MS = 40
const JSON_OF = { content: `Content of ${'words '.repeat(40)}` }

/** Pages that embed what others have, over TLS on loopback: `lookup` leads there, `spkiHash` is that of its key. */
export async function openThirdParties() {
  const blockedBy = createHostBlock(BLOCK_LISTS)
  for (const host of Object.keys(EMBEDDED))
    if (blockedBy(host) === null) throw new Error(`${host} is on no list`)
  const { privateKey, certificate, publicKeyInfo } = createSelfSigned('third parties')
  const others = https.createServer(
    { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: certificate },
    (request, response) =>
      void setTimeout(() => {
        const host = request.headers.host?.split(':')[0] ?? ''
        response.setHeader('access-control-allow-origin', '*').setHeader('cache-control', 'no-store')
        const isFirst = request.url === '/embed.js'
        if (isFirst || request.url?.endsWith('.js')) {
          response.setHeader('content-type', 'text/javascript')
          response.end(
            isFirst
              ? `(() => { const here = 'https://${request.headers.host}/'; ${EMBEDDED[host] ?? ''} })()`
              : ';',
          )
        } else response.end(JSON.stringify(JSON_OF))
      }, ANSWER_MS),
  )
  await listening(others, OTHERS, 443)
  const script = `const load = (src) => document.head.append(Object.assign(document.createElement('script'), { src }))
    const show = (text, id = '') => document.body.insertAdjacentHTML('beforeend', '<div id="' + id + '">' + text + '</div>')
    const content = (url) => fetch(url).then((answer) => answer.json()).then((found) => show(found.content))`
  const embedding = (hosts: readonly string[], content: readonly string[]) => {
    const tags = hosts.map((host) => `<script async src="https://${host}/embed.js"></script>`).join('')
    const calls = content.map((url) => `content('${url}')`).join(';')
    return page(`<h1>Page</h1><script>${calls}</script>`, `<script>${script}</script>${tags}`)
  }
  const pages: Record<string, string> = {
    '/shop': embedding(SHOP, ['/content.json']),
    '/magazine': embedding(Object.keys(EMBEDDED), ['/content.json']),
    '/lookalikes': embedding(
      [],
      CONTENT.map((host) => `https://${host}/content`),
    ),
  }
  const origin = createServer((request, response) => {
    const document = pages[request.url ?? '']
    if (document !== undefined) response.setHeader('content-type', 'text/html; charset=utf-8').end(document)
    else setTimeout(() => response.end(JSON.stringify(JSON_OF)), ANSWER_MS)
  })
  const originUrl = `http://127.0.0.1:${await listening(origin, '127.0.0.1', 0)}`
  return {
    originUrl,
    paths: Object.keys(pages),
    spkiHash: createHash('sha256').update(publicKeyInfo).digest('base64'),
    lookup: async () => [OTHERS],
    close() {
      for (const server of [origin, others]) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}

async function listening(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
