import ipaddr from 'ipaddr.js'

/** Private addresses that are allowed as origins. A `port` of null allows all ports. */
export type AllowedRange = { cidr: [ipaddr.IPv4 | ipaddr.IPv6, number]; port: number | null }

/** `10.0.0.0/8`, `127.0.0.1/32:4000`, `fd00::/8`, `[fd00::/8]:4000` or one address. Returns null if it is malformed. */
export function parseAllowedRange(entry: string): AllowedRange | null {
  const match = /^\[([^\]]+)\](?::(\d+))?$|^([0-9.]+(?:\/\d+)?)(?::(\d+))?$|^([0-9a-f:.]+(?:\/\d+)?)$/i.exec(
    entry,
  )
  if (match === null) return null
  const text = match[1] ?? match[3] ?? match[5] ?? ''
  const port = match[2] ?? match[4] ?? null
  if (port !== null && (Number(port) < 1 || Number(port) > 65_535)) return null
  try {
    const bits = text.includes(':') ? 128 : 32
    // ipaddr.js also reads 127.1 and 0177.0.0.1.
    if (bits === 32 && !/^\d{1,3}(\.\d{1,3}){3}(\/|$)/.test(text)) return null
    return {
      cidr: ipaddr.parseCIDR(text.includes('/') ? text : `${text}/${bits}`),
      port: port === null ? null : Number(port),
    }
  } catch {
    return null
  }
}
