import type { Dns } from '../../api/types.ts'

export type DnsRecord = { type: 'A' | 'AAAA' | 'CNAME' | 'ALIAS'; value: string }

const GUESSED =
  'This is the address of the dashboard. If visitors reach the edge at another address, ask your operator for it.'

type Records = { records: DnsRecord[]; note: string | null }

/** Returns the records that point a domain here. `here` is the dashboard's host name, used if the operator named no target. */
export function recordsFor(domain: string, target: Dns['target'], here: string): Records {
  if (target === null && isLoopback(here)) {
    return {
      records: [{ type: 'A', value: '<address of this machine>' }],
      note: 'You opened the dashboard on the machine itself. Use the address at which visitors reach this machine.',
    }
  }
  if (target !== null && target.addresses.length > 0) {
    return { records: target.addresses.map(addressRecord), note: null }
  }
  const host = target?.host ?? here
  const note = target === null ? GUESSED : null
  if (isAddress(host)) return { records: [addressRecord(host.replace(/[[\]]/g, ''))], note }
  if (domain.split('.').length > 2) return { records: [{ type: 'CNAME', value: `${host}.` }], note }
  return {
    records: [{ type: 'ALIAS', value: `${host}.` }],
    note: 'A name without www cannot have a CNAME record. If your DNS provider has no ALIAS or ANAME records, set A and AAAA records with the addresses of this installation.',
  }
}

/** Requests the domain from the edge as a crawler, even before the DNS points here. */
export function crawlerCommand(
  domain: string,
  dns: Pick<Dns, 'target' | 'edge_port'> | undefined,
  here: string,
): string {
  const target = dns?.target ?? null
  const host = inBrackets(target?.host ?? target?.addresses[0] ?? here)
  // With a target, visitors reach the edge at the standard port, whatever port this node has.
  const port = target === null ? (dns?.edge_port ?? 80) : 80
  return `curl -sI -A Googlebot --connect-to ${domain}:80:${host}:${port} http://${domain}/`
}

/** Requests the domain from its own front as a crawler. */
export function frontCommand(domain: string): string {
  return `curl -sD- -o /dev/null -A Googlebot https://${domain}/`
}

/** Requests the domain from a server on this machine as a crawler, whatever the DNS says. */
export function localCommand(domain: string): string {
  return `curl -sD- -o /dev/null -A Googlebot -H 'Host: ${domain}' http://127.0.0.1/`
}

/** An IPv6 address needs brackets before a port. */
function inBrackets(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

function isAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.startsWith('[')
}

function addressRecord(value: string): DnsRecord {
  return { type: value.includes(':') ? 'AAAA' : 'A', value }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.startsWith('127.') || host === '[::1]'
}

/** Says where the name points, in one sentence. */
export function dnsText({ state, addresses, aliases }: Pick<Dns, 'state' | 'addresses' | 'aliases'>): string {
  const where = [...aliases, ...addresses].join(', ')
  switch (state) {
    case 'reaches-us':
      return where === '' ? 'DNS points here.' : `DNS points here, through ${where}.`
    case 'elsewhere':
      return where === ''
        ? 'DNS points elsewhere: to an address that is not public or does not respond.'
        : `DNS points elsewhere: to ${where}.`
    case 'no-record':
      return 'The name has no address in the DNS yet.'
    case 'not-checked':
      return 'The name servers do not respond. The check is repeated automatically.'
  }
}
