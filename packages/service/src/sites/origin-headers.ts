import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import type { GivenOriginHeaders } from '@prepaint/contract/settings/domain-settings.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { originHeadersPurpose, type Vault } from '../certificates/vault/vault.ts'

// Headers that let Prepaint into an origin behind a password or a firewall. Their values are stored sealed and never shown.

type SealedHeader = { name: string; value: string; for: 'renders' | 'all' }

/**
 * The caller has locked the domain's row and run `vault.admit()`. Throws `invalid_field` for a value that was never given,
 * `secrets_unavailable` without the master key.
 */
export async function keepOriginHeaders(
  client: Queryable,
  vault: Vault | undefined,
  domain: DomainId,
  given: GivenOriginHeaders,
): Promise<void> {
  if (given.length === 0) {
    await client.query('delete from origin_header where domain_id = $1', [domain])
    return
  }
  if (vault === undefined) throw new AppError('secrets_unavailable')
  const before = given.some(({ value }) => value === null) ? await storedHeaders(client, vault, domain) : []
  const headers = given.map(({ name, value, for: audience }, at): SealedHeader => {
    const known = before.find((header) => header.name.toLowerCase() === name.toLowerCase())
    const wanted = value ?? known?.value
    if (wanted !== undefined) return { name, value: wanted, for: audience }
    throw invalidField(['settings', 'origin_headers', at, 'value'], 'is required')
  })
  const shown = headers.map((header) => ({ name: header.name, value: null, set: true, for: header.for }))
  const sealed = await vault.seal(originHeadersPurpose(domain), Buffer.from(JSON.stringify(headers)))
  await client.query(
    `insert into origin_header (domain_id, shown, key_sealed) values ($1, $2, $3)
     on conflict (domain_id) do update set shown = excluded.shown, key_sealed = excluded.key_sealed`,
    [domain, JSON.stringify(shown), sealed],
  )
}

async function storedHeaders(client: Queryable, vault: Vault, domain: DomainId): Promise<SealedHeader[]> {
  const { rows } = await client.query<{ key_sealed: Buffer }>(
    'select key_sealed from origin_header where domain_id = $1',
    [domain],
  )
  try {
    return rows.flatMap(({ key_sealed }) => openHeaders(vault, domain, key_sealed))
  } catch (cause) {
    throw new AppError('secrets_unavailable', { cause })
  }
}

function openHeaders(vault: Vault, domain: number, sealed: Buffer): SealedHeader[] {
  return JSON.parse(vault.open(originHeadersPurpose(domain), sealed).toString()) as SealedHeader[]
}

/** Returns a function that opens sealed headers. Without the master key it gives none, and the origin refuses. */
export function createOpenOriginHeaders(vault: Vault, log: Log): OpenOriginHeaders {
  return (domain, sealed, audience) => {
    if (sealed === null) return []
    try {
      const headers = openHeaders(vault, domain, sealed)
      return headers
        .filter((header) => audience === 'renders' || header.for === 'all')
        .flatMap(({ name, value }) => [name, value])
    } catch (error) {
      log.error({ err: error, domain }, "the headers for a domain's origin cannot be decrypted")
      return []
    }
  }
}

/** Returns a warning for each header that opens the origin to everybody. */
export function openToAll(given: GivenOriginHeaders): { origin_header: string; message: string }[] {
  const message = 'everybody who asks the edge gets the origin with this header'
  return given.filter((header) => header.for === 'all').map(({ name }) => ({ origin_header: name, message }))
}
