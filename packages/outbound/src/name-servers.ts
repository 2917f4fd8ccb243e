import { Resolver } from 'node:dns/promises'
import { AddressLookup, type Lookup } from './lookup.ts'

const TIMEOUT_MS = 2_000

/** What the DNS says of a name: all A and AAAA records, and the targets of CNAME records, in order. */
type NameRecords = { addresses: string[]; aliases: string[] }

/** The name servers of the machine, or those that the operator names (`address` or `address:port`). */
export class NameServers {
  /** Asks the hosts file first, as for every connection. */
  readonly lookup: Lookup
  readonly #servers: readonly string[] | null

  constructor(servers: readonly string[] | null = null) {
    this.#servers = servers
    const addresses = new AddressLookup(servers === null ? {} : { servers })
    this.lookup = (name) => addresses.find(name)
  }

  /** Reads the records of a name, without the hosts file, which visitors do not have. Rejects if there is none (`isNoRecord`), or if the name servers do not answer. */
  async records(name: string): Promise<NameRecords> {
    const resolver = this.#open()
    const [v4, v6, alias] = await Promise.allSettled([
      resolver.resolve4(name),
      resolver.resolve6(name),
      resolver.resolveCname(name),
    ])
    const addresses = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0 && v4.status === 'rejected') throw v4.reason
    return { addresses, aliases: alias.status === 'fulfilled' ? alias.value : [] }
  }

  /** Reads the TXT records of a name, each as one text. An unknown name has none. Rejects if the name servers do not answer. */
  async texts(name: string): Promise<string[]> {
    try {
      const records = await this.#open().resolveTxt(name)
      return records.map((parts) => parts.join(''))
    } catch (error) {
      if (isNoRecord(error)) return []
      throw error
    }
  }

  /** A new one each time: the machine may have changed networks. */
  #open(): Resolver {
    const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 })
    if (this.#servers !== null) resolver.setServers(this.#servers)
    return resolver
  }
}

/** Whether a look-up failed because the name has no such record. */
export function isNoRecord(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ENOTFOUND' || code === 'ENODATA'
}
