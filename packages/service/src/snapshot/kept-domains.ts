import type { DomainId } from '@prepaint/contract/ids.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { ServedCertificate } from '../certificates/stored-certificate.ts'
import { HOSTED_COLUMNS, HOSTED_TABLES, type HostedDomain, servedDomain } from '../sites/domains.ts'
import type { KeptRow } from './snapshot-file.ts'

// PostgreSQL writes the JSON, so that this process neither parses nor writes the 40 MB of a full cell. Binary values are
// hexadecimal, as `bytea` is in JSON; they are sealed.
const KEPT = `
  select h.custom_domain as host, to_json(h)::text as row,
         (select json_build_object('domain_id', t.domain_id, 'chain', t.chain, 'key_sealed', t.key_sealed,
                                   'not_before', t.not_before, 'not_after', t.not_after)::text
            from certificate t where t.domain_id = h.id) as certificate
    from (select ${HOSTED_COLUMNS} ${HOSTED_TABLES} where`

/** Reads domains in the order of their names, after `host`. */
export async function readKeptAfter(db: Queryable, host: string, limit: number): Promise<KeptRow[]> {
  const text = `${KEPT} d.custom_domain > $1 order by d.custom_domain limit $2) h`
  const { rows } = await db.query<KeptRow>({ name: 'snapshot-all', text, values: [host, limit] })
  return rows
}

export async function readKept(db: Queryable, hosts: readonly string[]): Promise<KeptRow[]> {
  const text = `${KEPT} d.custom_domain = any($1)) h`
  const { rows } = await db.query<KeptRow>({ name: 'snapshot-hosts', text, values: [hosts] })
  return rows
}

/** Returns the names of the domains of these accounts. */
export async function hostsOfAccounts(db: Queryable, accounts: readonly number[]): Promise<string[]> {
  const { rows } = await db.query<{ host: string }>(
    'select custom_domain as host from domain where account_id = any($1)',
    [accounts],
  )
  return rows.map(({ host }) => host)
}

type DomainJson = Omit<HostedDomain, 'certificate_ends_at' | 'sealed_headers'> & {
  certificate_ends_at: string | null
  sealed_headers: string | null
}

export function keptDomain({ row }: KeptRow, openHeaders: OpenOriginHeaders): ServedDomain {
  const parsed = JSON.parse(row) as DomainJson
  const { certificate_ends_at: endsAt, sealed_headers: sealed } = parsed
  const hosted: HostedDomain = {
    ...parsed,
    certificate_ends_at: endsAt === null ? null : new Date(endsAt),
    sealed_headers: sealed === null ? null : fromHex(sealed),
  }
  return servedDomain(hosted, openHeaders)
}

type CertificateJson = {
  domain_id: DomainId
  chain: string
  key_sealed: string
  not_before: string
  not_after: string
}

export function keptCertificate({ certificate }: KeptRow): ServedCertificate | null {
  if (certificate === null) return null
  const parsed = JSON.parse(certificate) as CertificateJson
  return {
    domain: parsed.domain_id,
    certificate: {
      chain: parsed.chain,
      keySealed: fromHex(parsed.key_sealed),
      notBeforeMs: Date.parse(parsed.not_before),
      notAfterMs: Date.parse(parsed.not_after),
    },
    challenge: null,
  }
}

/** Reads PostgreSQL's form `\x0123`. */
function fromHex(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}
