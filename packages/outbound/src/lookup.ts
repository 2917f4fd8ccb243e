import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Addresses of a name, best first. An unknown name rejects or gives an empty list. */
export type Lookup = (name: string) => Promise<readonly string[]>

type LookupOptions = {
  servers?: readonly string[]
  hostsFile?: string
}

/** Answers are cached briefly, because one page opens several connections to a host at once. */
const KEEP_MS = 5_000
const MAX_KEPT = 2_000
const QUERY_TIMEOUT_MS = 2_000
const QUERY_TRIES = 2

/** Asks the hosts file, then name servers. It avoids getaddrinfo: a silent server would block Node's four pool threads. */
export class AddressLookup {
  readonly #servers: readonly string[] | undefined
  readonly #hostsFile: string
  readonly #kept = new Map<string, Promise<readonly string[]>>()
  #resolver: Resolver

  /** Without them it uses the machine's name servers and `/etc/hosts`. */
  constructor({ servers, hostsFile = '/etc/hosts' }: LookupOptions = {}) {
    this.#servers = servers
    this.#hostsFile = hostsFile
    this.#resolver = this.#openResolver()
  }

  /** Rejects with the fault of the name server, or returns an empty list for a name without addresses. */
  find(name: string): Promise<readonly string[]> {
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    const asked = this.#ask(name)
    if (this.#kept.size < MAX_KEPT) {
      this.#kept.set(name, asked)
      const forget = () => void this.#kept.delete(name)
      asked.then(() => setTimeout(forget, KEEP_MS).unref(), forget)
    }
    return asked
  }

  async #ask(name: string): Promise<readonly string[]> {
    // Never resolved over the network (RFC 6761, section 6.3).
    if (name === 'localhost') return ['127.0.0.1', '::1']
    const written = await fromHostsFile(this.#hostsFile, name)
    if (written.length > 0) return written
    const [v4, v6] = await Promise.allSettled([this.#resolver.resolve4(name), this.#resolver.resolve6(name)])
    const found = [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0 || v4.status === 'fulfilled') return found
    // The machine may have changed networks: read the system's name servers again.
    if (isServerFault(v4.reason)) this.#resolver = this.#openResolver()
    throw v4.reason
  }

  #openResolver(): Resolver {
    const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES })
    if (this.#servers !== undefined) resolver.setServers(this.#servers)
    return resolver
  }
}

const ofThisMachine = new AddressLookup()

export const lookupAddresses: Lookup = (name) => ofThisMachine.find(name)

async function fromHostsFile(file: string, name: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    return isIP(address) !== 0 && names.some((other) => other.toLowerCase() === name) ? [address] : []
  })
}

function isServerFault(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'ECONNREFUSED' || code === 'ETIMEOUT'
}
