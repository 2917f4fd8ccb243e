import net from 'node:net'

/** Where the object store is and how to speak to it: PREPAINT_BODIES. */
export type StoreAddress = {
  isSecure: boolean
  /** Without the brackets of an IPv6 address. */
  hostname: string
  /** Null: the usual one. */
  port: number | null
  bucket: string
  /** Is empty, or ends with a slash. */
  prefix: string
  region: string
  /** Virtual-hosted style: the bucket is a label of the host name. */
  isVirtual: boolean
  key: string
  secret: string
}

type ParsedAddress = { address: StoreAddress } | { problem: string }

const FORM = 'must be s3+https://KEY:SECRET@HOST[:PORT]/BUCKET[/PREFIX]?region=REGION'
const PARAMETERS: ReadonlySet<string> = new Set(['region', 'style'])
/** Characters that need no encoding anywhere, so that every store signs the same path. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}$/
const REGION = /^[A-Za-z0-9-]{1,64}$/
const HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

/** Parses the setting. A problem names the part, and repeats nothing of the value. */
export function parseStoreAddress(raw: string): ParsedAddress {
  const problem = (part: string): ParsedAddress => ({ problem: `${FORM}: ${part}` })
  if (!/^s3\+https?:\/\//.test(raw))
    return problem('it begins with s3+https://, or s3+http:// on a private address')
  if (!URL.canParse(raw)) return problem('the host, the port or an encoding is malformed')
  const url = new URL(raw)
  const key = decoded(url.username)
  const secret = decoded(url.password)
  if (key === null || key === '') return problem('the key is missing or not percent-encoded')
  if (secret === null || secret === '') return problem('the secret is missing or not percent-encoded')
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  if (net.isIP(hostname) === 0 && !HOST.test(hostname)) return problem('the host is malformed')
  const isSecure = url.protocol === 's3+https:'
  if (!isSecure && !isPrivate(hostname)) {
    return problem('s3+http is allowed for loopback and private addresses only; use s3+https')
  }
  const [bucket = '', ...segments] = url.pathname.slice(1).split('/')
  if (bucket === '') return problem('the bucket is missing')
  if (!BUCKET.test(bucket)) return problem('the bucket is malformed')
  if (segments.at(-1) === '') segments.pop()
  if (!segments.every((segment) => SEGMENT.test(segment))) {
    return problem('the prefix has letters, digits, ".", "_", "-" and "/" only')
  }
  if (url.hash !== '') return problem('it has no fragment; percent-encode "#"')
  const parameters = [...url.searchParams.keys()]
  if (!parameters.every((name) => PARAMETERS.has(name)))
    return problem('it takes the parameters region and style only')
  if (new Set(parameters).size < parameters.length) return problem('a parameter is given twice')
  const region = url.searchParams.get('region') ?? 'us-east-1'
  if (!REGION.test(region)) return problem('the region is malformed')
  const style = url.searchParams.get('style')
  if (style !== null && style !== 'virtual' && style !== 'path')
    return problem('the style is virtual or path')
  const isVirtual = style === 'virtual'
  if (isVirtual && net.isIP(hostname) !== 0) return problem('style=virtual needs a host name')
  const prefix = segments.map((segment) => `${segment}/`).join('')
  const port = url.port === '' ? null : Number(url.port)
  return { address: { isSecure, hostname, port, bucket, prefix, region, isVirtual, key, secret } }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

const privateAddresses = new net.BlockList()
privateAddresses.addSubnet('127.0.0.0', 8, 'ipv4')
privateAddresses.addSubnet('10.0.0.0', 8, 'ipv4')
privateAddresses.addSubnet('172.16.0.0', 12, 'ipv4')
privateAddresses.addSubnet('192.168.0.0', 16, 'ipv4')
privateAddresses.addSubnet('169.254.0.0', 16, 'ipv4')
privateAddresses.addAddress('::1', 'ipv6')
privateAddresses.addSubnet('fc00::', 7, 'ipv6')
privateAddresses.addSubnet('fe80::', 10, 'ipv6')

/** A name may lead anywhere by the time it is used, so only `localhost` counts. */
function isPrivate(hostname: string): boolean {
  if (hostname.toLowerCase() === 'localhost') return true
  const family = net.isIP(hostname)
  return family !== 0 && privateAddresses.check(hostname, family === 6 ? 'ipv6' : 'ipv4')
}

/** The host of the setting, with its port where the setting has one. */
export function hostOf({ hostname, port }: StoreAddress): string {
  const host = net.isIPv6(hostname) ? `[${hostname}]` : hostname
  return port === null ? host : `${host}:${port}`
}

/** The setting as it may be shown: without the secret. */
export function shownAddress(address: StoreAddress): string {
  const scheme = address.isSecure ? 's3+https' : 's3+http'
  return `${scheme}://${encodeURIComponent(address.key)}:***@${hostOf(address)}/${address.bucket}`
}
