import type { DNS_STATES } from '@prepaint/contract/api/dns.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import {
  type AddressGuard,
  askAddresses,
  findsAnswer,
  insideTls,
  isNoRecord,
  isPublicAddress,
  type Lookup,
  NameServers,
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

/** `names`: whom to ask. Tests replace the others. */
export type DnsOptions = {
  names?: NameServers
  records?: DnsRecords
  lookup?: Lookup
  ports?: { http: number; https: number }
  timeoutMs?: number
}

/** Reads the records of a name. Rejects when the name servers do not answer. */
type DnsRecords = NameServers['records']

const MACHINE = new NameServers()
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
    names = MACHINE,
    records = (asked) => names.records(asked),
    lookup = names.lookup,
    ports = { http: 80, https: 443 },
    timeoutMs = 3_000,
  }: DnsOptions = {},
): Promise<DnsState | null> {
  const published = await publishAnswer(db, account, name)
  if (published === null) return null
  const found = await records(name).catch((error: unknown) => (isNoRecord(error) ? 'none' : 'no-answer'))
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
