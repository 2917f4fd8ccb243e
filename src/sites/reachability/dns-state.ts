import { Resolver } from 'node:dns/promises'
import type { AccountId, DomainName } from '../../ids.ts'
import { type AddressGuard, isPublicAddress } from '../../outbound/address-guard.ts'
import type { Lookup } from '../../outbound/lookup.ts'
import { ask } from './ask.ts'
import type { ReachWord } from './published-word.ts'

/**
 * `reaches-us`: asked under this name, this fleet answers. `elsewhere`: somebody
 * else does, or nobody. `no-record`: the name has no address. `not-checked`: the
 * name servers gave no answer in time.
 */
export const DNS_STATES = ['reaches-us', 'elsewhere', 'no-record', 'not-checked'] as const

export type DnsState = {
  state: (typeof DNS_STATES)[number]
  /** Public ones only: what a network inside has is nobody's business. */
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
 * Where one of the account's domains leads at this moment: a word is published
 * and asked for under its name, as a CA does it, on the plain port and then by
 * TLS. Bounded in time. Null: the account has no such domain.
 */
export async function readDnsState(
  {
    guard,
    publish,
    records = dnsRecords,
    lookup,
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
  const shown =
    found === 'no-answer'
      ? { addresses: [], aliases: [] }
      : {
          addresses: found.addresses.filter(isPublicAddress).slice(0, MOST_SHOWN),
          aliases: found.aliases.slice(0, MOST_SHOWN),
        }
  const { path, word } = published
  const options = { guard, lookup, signal: new AbortController().signal, timeoutMs }
  const asked = { host: name, name, path, verified: false } as const
  const ways = [
    { ...asked, scheme: 'http', port: ports.http },
    { ...asked, scheme: 'https', port: ports.https },
  ] as const
  for (const way of ways) {
    const answer = await ask(way, options).catch(() => null)
    if (answer?.status === 200 && answer.text.includes(word)) return { state: 'reaches-us', ...shown }
  }
  return { state: found === 'no-answer' ? 'not-checked' : 'elsewhere', ...shown }
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
