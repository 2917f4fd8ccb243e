import { Resolver } from 'node:dns/promises'
import type { DNS_STATES } from '@prepaint/contract/api/dns.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import {
  type AddressGuard,
  askAddresses,
  findsAnswer,
  insideTls,
  isPublicAddress,
  type Lookup,
  lookupAddresses,
} from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { publishAnswer } from './published-answer.ts'

export type DnsState = {
  state: (typeof DNS_STATES)[number]
  /** Public addresses of the name. If only some lead here, those that do not. */
  addresses: string[]
  /** Targets of CNAME records, in order. */
  aliases: string[]
  /** All A and AAAA records, public or not. */
  records: string[]
}

/** What tests replace. */
export type DnsOptions = {
  records?: DnsRecords
  lookup?: Lookup
  ports?: { http: number; https: number }
  timeoutMs?: number
}

/** Reads the records of a name. Rejects when the name servers do not answer. */
type DnsRecords = (name: string) => Promise<{ addresses: string[]; aliases: string[] }>

const MOST_SHOWN = 8
const MOST_KEPT = 100

/**
 * Publishes an answer and requests it at each address of the name, over http and then TLS, as a CA does. Returns null if
 * the account has no such domain.
 */
export async function checkDns(
  db: Queryable,
  guard: AddressGuard,
  account: AccountId,
  name: DomainName,
  {
    records = dnsRecords,
    lookup = lookupAddresses,
    ports = { http: 80, https: 443 },
    timeoutMs = 3_000,
  }: DnsOptions = {},
): Promise<DnsState | null> {
  const published = await publishAnswer(db, account, name)
  if (published === null) return null
  const found = await records(name).catch((error: unknown) => (isNothing(error) ? 'none' : 'no-answer'))
  if (found === 'none') return { state: 'no-record', addresses: [], aliases: [], records: [] }
  const isUnknown = found === 'no-answer'
  const shown = {
    addresses: isUnknown ? [] : found.addresses.filter(isPublicAddress).slice(0, MOST_SHOWN),
    aliases: isUnknown ? [] : found.aliases.slice(0, MOST_SHOWN),
    records: isUnknown ? [] : found.addresses.slice(0, MOST_KEPT),
  }
  const { path, answer } = published
  const request = {
    addresses: await lookup(name).catch(() => []),
    guard,
    timeoutMs,
    signal: new AbortController().signal,
  }
  const looks = [
    [ports.http, findsAnswer(name, path, answer)],
    [ports.https, insideTls(name, [], findsAnswer(name, path, answer))],
  ] as const
  for (const [port, look] of looks) {
    const answering = await askAddresses({ ...request, port }, look)
    if (answering === null || answering.here.length === 0) continue
    if (answering.other.length === 0) return { state: 'reaches-us', ...shown }
    const addresses = shown.addresses.filter((address) => !answering.here.includes(address))
    return { state: 'elsewhere', ...shown, addresses }
  }
  return { state: isUnknown ? 'not-checked' : 'elsewhere', ...shown }
}

/** Asks the system's name servers, without the hosts file, which visitors do not have. */
const dnsRecords: DnsRecords = async (name) => {
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  const [v4, v6, alias] = await Promise.allSettled([
    resolver.resolve4(name),
    resolver.resolve6(name),
    resolver.resolveCname(name),
  ])
  const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
  return { addresses, aliases: alias.status === 'fulfilled' ? alias.value : [] }
}

function isNothing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ENOTFOUND' || code === 'ENODATA'
}
