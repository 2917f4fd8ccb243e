import { Resolver } from 'node:dns/promises'
import type { AccountId, DomainName } from '../../ids.ts'
import { type AddressGuard, isPublicAddress } from '../../outbound/address-guard.ts'
import { askAddresses, findsWord, insideTls } from '../../outbound/ask-addresses.ts'
import { type Lookup, lookupAddresses } from '../../outbound/lookup.ts'
import type { ReachWord } from './published-word.ts'

/**
 * `reaches-us`: asked under this name, this installation answers at each address at which a server answers.
 * `elsewhere`: another server answers, or none. `no-record`: the name has no address. `not-checked`: the
 * name servers gave no answer in time.
 */
export const DNS_STATES = ['reaches-us', 'elsewhere', 'no-record', 'not-checked'] as const

export type DnsState = {
  state: (typeof DNS_STATES)[number]
  /** Public ones only: addresses inside a network are not shown. Where some lead here and others do not, the others. */
  addresses: string[]
  /** Names that the name is another name for, in order. */
  aliases: string[]
}

export type DnsDeps = {
  guard: AddressGuard
  /** null: the account has no such domain. */
  publish(account: AccountId, name: DomainName): Promise<ReachWord | null>
  records?: DnsRecords
  /** Resolves what is connected to; by default as everywhere. */
  lookup?: Lookup
  ports?: { http: number; https: number }
  timeoutMs?: number
}

/** Addresses and aliases of a name in the DNS; rejects when the servers give no answer. */
type DnsRecords = (name: string) => Promise<{ addresses: string[]; aliases: string[] }>

const MOST_SHOWN = 8

/**
 * Where one of the account's domains leads at this moment: a word is published and asked for under its name,
 * as a CA does it, at each address: on the plain port, then by TLS. Null: the account has no such domain.
 */
export async function readDnsState(
  {
    guard,
    publish,
    records = dnsRecords,
    lookup = lookupAddresses,
    ports = { http: 80, https: 443 },
    timeoutMs = 3_000,
  }: DnsDeps,
  account: AccountId,
  name: DomainName,
): Promise<DnsState | null> {
  const published = await publish(account, name)
  if (published === null) return null
  const found = await records(name).catch((error: unknown) => (isNothing(error) ? 'none' : 'no-answer'))
  if (found === 'none') return { state: 'no-record', addresses: [], aliases: [] }
  const isUnknown = found === 'no-answer'
  const shown = {
    addresses: isUnknown ? [] : found.addresses.filter(isPublicAddress).slice(0, MOST_SHOWN),
    aliases: isUnknown ? [] : found.aliases.slice(0, MOST_SHOWN),
  }
  const { path, word } = published
  const asked = {
    addresses: await lookup(name).catch(() => []),
    guard,
    timeoutMs,
    signal: new AbortController().signal,
  }
  const looks = [
    [ports.http, findsWord(name, path, word)],
    [ports.https, insideTls(name, [], findsWord(name, path, word))],
  ] as const
  for (const [port, look] of looks) {
    const answering = await askAddresses({ ...asked, port }, look)
    if (answering === null || answering.here.length === 0) continue
    if (answering.other.length === 0) return { state: 'reaches-us', ...shown }
    const addresses = shown.addresses.filter((address) => !answering.here.includes(address))
    return { state: 'elsewhere', ...shown, addresses }
  }
  return { state: isUnknown ? 'not-checked' : 'elsewhere', ...shown }
}

/** Asks the system's name servers; the hosts file is not asked: visitors do not have it. */
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

/** The servers have answered: there is none. */
function isNothing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ENOTFOUND' || code === 'ENODATA'
}
