import type { DomainName } from '@prepaint/contract/ids.ts'
import { PROOF_HEADER } from '@prepaint/contract/page/proof-mark.ts'
import { type AddressGuard, connectFault, readOrigin, readText } from '@prepaint/outbound'
import { createClient, type OriginPool, sendRequest } from '@prepaint/outbound/client'

/** Ports of sites. Tests have others. */
export type SitePorts = { http: number; https: number }

type AskOptions = {
  guard: AddressGuard
  /** Tells edges of this installation that they are asked: `marks.ts`. */
  mark: string
  ports: SitePorts
  /** Ends all requests of a check. */
  signal: AbortSignal
}

/** `text`: the first 64 KiB of an answer with status 200, else ''. `isOurs`: it came through a Prepaint. */
export type SiteAnswer = { status: number; text: string; isOurs: boolean; redirectsTo: string | null }

const BODY_LIMIT_BYTES = 65_536
const CONNECT_WITHIN_MS = 3_000
const SILENCE_MS = 4_000
const REDIRECTS_LIMIT = 3
/** A browser's: fronts send crawlers here, and some sites answer nothing but browsers. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

/**
 * Asks for a path of a site at one address: by https, and by http if nothing answers there. The certificate does not matter:
 * the address is what the DNS says, as when a CA asks by http-01 (RFC 8555, section 8.3). Follows redirects within the host.
 * Returns null if the guard refuses the address, or if nothing answers in time.
 */
export async function askSite(
  { name, address }: { name: DomainName; address: string },
  path: string,
  { guard, mark, ports, signal }: AskOptions,
): Promise<SiteAnswer | null> {
  const client = createClient(guard, {
    connectTimeoutMs: CONNECT_WITHIN_MS,
    // The DNS is asked once: an answer that changes meanwhile changes nothing.
    lookup: async () => [address],
    isAnyCertificate: true,
  })
  try {
    for (const scheme of ['https', 'http'] as const) {
      const answer = await followed(client, { name, scheme, path, mark, ports }, signal).catch(
        (error: unknown) => {
          if (connectFault(error) !== null && !signal.aborted) return 'unreachable'
          return null
        },
      )
      if (answer !== 'unreachable') return answer
    }
    return null
  } finally {
    client.close()
  }
}

type Asked = { name: DomainName; scheme: 'http' | 'https'; path: string; mark: string; ports: SitePorts }

async function followed(client: OriginPool, asked: Asked, signal: AbortSignal): Promise<SiteAnswer> {
  const { name, mark, ports } = asked
  let { scheme, path } = asked
  for (let hops = 0; ; hops++) {
    const headers = ['Host', name, 'User-Agent', USER_AGENT, 'Accept', 'text/html,text/plain,*/*;q=0.8']
    headers.push('Cache-Control', 'no-cache', PROOF_HEADER, mark, 'Connection', 'close')
    const origin = readOrigin(`${scheme}://${name}:${ports[scheme]}`, 'proof')
    const {
      statusCode: status,
      headers: received,
      body,
    } = await sendRequest(client, origin, {
      method: 'GET',
      path,
      headers,
      silenceMs: SILENCE_MS,
      signal,
    }).response
    const isOurs = received['x-prepaint'] !== undefined
    const { location } = received
    const isRedirect = status >= 300 && status < 400 && status !== 304 && location !== undefined
    if (!isRedirect) {
      // A home page may be longer: its head is at the beginning.
      const { text } = await readText(body, BODY_LIMIT_BYTES).finally(() => body.destroy())
      return { status, text: status === 200 ? text : '', isOurs, redirectsTo: null }
    }
    body.destroy()
    const next = URL.parse(location, `${scheme}://${name}${path}`)
    if (next === null || !isWithin(next, name) || hops === REDIRECTS_LIMIT) {
      return { status, text: '', isOurs, redirectsTo: next?.host ?? location.slice(0, 200) }
    }
    scheme = next.protocol === 'https:' ? 'https' : 'http'
    path = `${next.pathname}${next.search}`
  }
}

function isWithin({ protocol, hostname, port, username }: URL, name: DomainName): boolean {
  return /^https?:$/.test(protocol) && hostname === name && port === '' && username === ''
}
