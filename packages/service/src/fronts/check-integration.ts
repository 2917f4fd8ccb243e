import { randomBytes } from 'node:crypto'
import type { IntegrationCheck, Way } from '@prepaint/contract/api/fronts.ts'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { CHECK_AGENT, withCheckToken } from '@prepaint/contract/page/check-token.ts'
import {
  type AddressGuard,
  connectFault,
  type Lookup,
  lookupAddresses,
  readOrigin,
  readText,
} from '@prepaint/outbound'
import { createClient, type OriginPool, OriginSilent, sendRequest } from '@prepaint/outbound/client'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import { checkAnswer, tokenHash } from './evidence.ts'

const TOKEN_BYTES = 24
const VALID_SECONDS = 60
const WITHIN_MS = 10_000
const REDIRECTS_LIMIT = 3
const BODY_LIMIT_BYTES = 65_536
const DETAIL_LIMIT_CHARS = 300

type Asked = {
  path: string
  /** Where to connect instead of the addresses in the DNS: a result of `checkOriginUrl`. */
  via: string | null
}

type Found =
  | { status: number; isOurs: boolean }
  | { status: number | null; reason: Reason; detail: string | null }
type Reason = NonNullable<IntegrationCheck['reason']>

type Arrival = {
  way: Way | null
  int_type: string | null
  int_version: string | null
  refused: string | null
}

/** Sends the site a request as a crawler, and says how it arrived here. The caller found the domain through its account. */
export async function checkIntegration(
  db: Queryable,
  guard: AddressGuard,
  domain: { id: DomainId; name: DomainName },
  { path: asked, via }: Asked,
  nowMs: number,
  lookup: Lookup = lookupAddresses,
): Promise<IntegrationCheck> {
  const path = spelled(asked)
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const hash = tokenHash(token)
  await db.query(
    `insert into integration_check (token_hash, domain_id, expires_at)
     values ($1, $2, clock_timestamp() + make_interval(secs => $3))`,
    [hash, domain.id, VALID_SECONDS],
  )
  const startedSeconds = systemStopwatch()
  const found = await askAsCrawler(guard, domain.name, { path, via, token }, lookup)
  const ms = Math.round((systemStopwatch() - startedSeconds) * 1_000)
  const { rows } = await db.query<Arrival>(
    'delete from integration_check where token_hash = $1 returning way, int_type, int_version, refused',
    [hash],
  )
  const check: IntegrationCheck = {
    ...judge(found, rows[0]),
    url: `https://${domain.name}${path}`,
    via,
    status: found.status,
    int_type: rows[0]?.int_type ?? null,
    int_version: rows[0]?.int_version ?? null,
    ms,
    checked_at: new Date(nowMs).toISOString(),
  }
  await db.query(
    `insert into integration_result (domain_id, result) select id, $2 from domain where id = $1
         on conflict (domain_id) do update set result = excluded.result`,
    [domain.id, JSON.stringify(check)],
  )
  return check
}

/** Returns the path as a client spells it in a request: without fragment, spaces and letters beyond ASCII. */
function spelled(path: string): string {
  const { pathname, search } = new URL(`http://localhost${path}`)
  return pathname + search
}

function judge(
  found: Found,
  arrival: Arrival | undefined,
): Pick<IntegrationCheck, 'state' | 'reason' | 'detail'> {
  if (arrival !== undefined && arrival.way !== null) {
    const isOurs = 'isOurs' in found && found.isOurs
    return { state: arrival.way, reason: isOurs ? null : 'answer-lost', detail: null }
  }
  if (arrival !== undefined && arrival.refused !== null) {
    return { state: 'not_seen', reason: 'refused', detail: arrival.refused }
  }
  if ('isOurs' in found) return { state: 'not_seen', reason: 'not-forwarded', detail: null }
  return { state: 'not_seen', reason: found.reason, detail: found.detail }
}

async function askAsCrawler(
  guard: AddressGuard,
  name: DomainName,
  { path, via, token }: Asked & { token: string },
  lookup: Lookup,
): Promise<Found> {
  const place = via === null ? null : new URL(via)
  // Names lead to `via`, so that TLS names the domain; the guard checks the address all the same.
  const lookupSite: Lookup = place === null ? lookup : () => addressesOf(place.hostname, lookup)
  const client = createClient(guard, { connectTimeoutMs: WITHIN_MS, lookup: lookupSite })
  const signal = AbortSignal.timeout(WITHIN_MS)
  const base = `${place?.protocol ?? 'https:'}//${name}${place === null || place.port === '' ? '' : `:${place.port}`}`
  try {
    return await followed(client, { name, base, isFixed: place !== null, path, token }, signal)
  } catch (error) {
    return { status: null, ...faultOf(error, signal) }
  } finally {
    client.close()
  }
}

async function followed(
  client: OriginPool,
  {
    name,
    base,
    isFixed,
    path,
    token,
  }: { name: DomainName; base: string; isFixed: boolean; path: string; token: string },
  signal: AbortSignal,
): Promise<Found> {
  let scheme = base
  let target = path
  for (let hops = 0; ; hops++) {
    const response = await sendRequest(client, readOrigin(scheme, 'check'), {
      method: 'GET',
      path: withCheckToken(target, token),
      headers: ['Host', name, 'User-Agent', CHECK_AGENT, 'Accept', 'text/html', 'Connection', 'close'],
      silenceMs: WITHIN_MS,
      signal,
    }).response
    const { statusCode: status, headers, body } = response
    const { location } = headers
    if (status < 300 || status >= 400 || status === 304 || location === undefined) {
      const { text } = await readText(body, BODY_LIMIT_BYTES).finally(() => body.destroy())
      return { status, isOurs: text.includes(checkAnswer(token)) }
    }
    body.destroy()
    const next = URL.parse(location, `https://${name}${target}`)
    const isOwn = next !== null && /^https?:$/.test(next.protocol) && next.hostname === name
    if (!isOwn || hops === REDIRECTS_LIMIT) {
      // The token is for nobody else.
      const detail = location.replaceAll(token, '').slice(0, DETAIL_LIMIT_CHARS)
      return { status, reason: 'redirect', detail }
    }
    target = `${next.pathname}${next.search}`
    if (!isFixed) scheme = `${next.protocol}//${next.host}`
  }
}

async function addressesOf(hostname: string, lookup: Lookup): ReturnType<Lookup> {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return /^[\d.]+$|:/.test(bare) ? [bare] : lookup(bare)
}

function faultOf(error: unknown, signal: AbortSignal): { reason: Reason; detail: string | null } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO|SSL|TLS/.test(code)) return { reason: 'tls', detail: code }
  if (signal.aborted || error instanceof OriginSilent) return { reason: 'timed-out', detail: null }
  return { reason: connectFault(error) ?? 'unreachable', detail: null }
}
