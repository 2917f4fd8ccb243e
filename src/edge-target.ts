import { isIP } from 'node:net'

/** What owners set in the DNS: an alias for `host`, or records with `addresses`. One of the two is there. */
export type EdgeTarget = { host: string | null; addresses: string[] }

/** `edge.example.net`, or `203.0.113.5,2001:db8::5`; null: neither. */
export function parseEdgeTarget(raw: string): EdgeTarget | null {
  const parts = raw.split(',').map((part) => part.trim())
  if (parts.every((part) => isIP(part) !== 0)) return { host: null, addresses: parts }
  const isName =
    parts.length === 1 &&
    /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i.test(raw.trim())
  return isName ? { host: raw.trim().toLowerCase(), addresses: [] } : null
}
