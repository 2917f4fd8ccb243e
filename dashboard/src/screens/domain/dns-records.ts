import type { Dns } from '../../api/types.ts'

export type DnsRecord = { type: 'A' | 'AAAA' | 'CNAME' | 'ALIAS'; value: string }

/** What to set for `domain`, and what to know about it; `here`: the host by which the dashboard is reached. */
export function recordsFor(
  domain: string,
  target: Dns['target'],
  here: string,
): { records: DnsRecord[]; note: string | null } {
  if (target !== null && target.addresses.length > 0) {
    return { records: target.addresses.map(addressRecord), note: null }
  }
  const host = target?.host ?? here
  const elsewhere =
    target === null
      ? 'This is the address by which you reach the dashboard; where the edge has another, your operator knows it.'
      : null
  if (target === null && isThisMachine(here)) {
    return {
      records: [{ type: 'A', value: '<address of this machine>' }],
      note: 'You see this on the machine itself: visitors need the address by which others reach it.',
    }
  }
  if (/^[\d.]+$/.test(host) || host.startsWith('[')) {
    return { records: [addressRecord(host.replace(/[[\]]/g, ''))], note: elsewhere }
  }
  if (domain.split('.').length > 2)
    return { records: [{ type: 'CNAME', value: `${host}.` }], note: elsewhere }
  return {
    records: [{ type: 'ALIAS', value: `${host}.` }],
    note: 'A name without www cannot have a CNAME. Where there is no ALIAS or ANAME, set A and AAAA records with the addresses of this installation.',
  }
}

function addressRecord(value: string): DnsRecord {
  return { type: value.includes(':') ? 'AAAA' : 'A', value }
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.startsWith('127.') || host === '[::1]'
}

/** Where the name leads, in words; null: there is nothing more to say. */
export function dnsWords({
  state,
  addresses,
  aliases,
}: Pick<Dns, 'state' | 'addresses' | 'aliases'>): string {
  const where = [...aliases, ...addresses].join(', ')
  switch (state) {
    case 'reaches-us':
      return where === '' ? 'The name leads here.' : `The name leads here, by ${where}.`
    case 'elsewhere':
      return where === ''
        ? 'The name leads to an address that is not public, or where nobody answers.'
        : `The name leads to ${where}, and from there not here.`
    case 'no-record':
      return 'The name has no address in the DNS yet.'
    case 'not-checked':
      return 'The name servers give no answer; it is asked again.'
  }
}
