import net from 'node:net'

type MailServer = {
  host: string
  port: number
  secure: boolean
  /** Refuses to send without TLS. False only for a server on this machine. */
  requireTls: boolean
  auth: { user: string; pass: string } | null
}

export type MailSettings = MailServer & {
  from: { name: string; address: string }
}

const ADDRESS = /^[^\s@<>",;:\\()[\]]{1,64}@[^\s@<>",;:\\()[\]]{1,255}$/

/** Parses a URL such as `smtp://user:password@host:587` or `smtps://host`. Returns null if it is invalid. */
export function parseSmtpUrl(raw: string): MailServer | null {
  if (!URL.canParse(raw)) return null
  const url = new URL(raw)
  const secure = url.protocol === 'smtps:'
  if (!secure && url.protocol !== 'smtp:') return null
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (host === '' || (url.pathname !== '' && url.pathname !== '/') || url.search !== '' || url.hash !== '')
    return null
  if ((url.username === '') !== (url.password === '')) return null
  const user = decoded(url.username)
  const pass = decoded(url.password)
  if (user === undefined || pass === undefined) return null
  const standardPort = secure ? 465 : 587
  return {
    host,
    port: Number(url.port || standardPort),
    secure,
    requireTls: !isThisMachine(host),
    auth: user === '' ? null : { user, pass },
  }
}

/** Parses `Prepaint <prepaint@example.com>` or `prepaint@example.com`. Returns null if it is invalid. */
export function parseMailFrom(raw: string): MailSettings['from'] | null {
  const match = /^(?:([^<>"\r\n]{0,100}?)\s*<([^<>\s]+)>|([^<>\s]+))$/.exec(raw.trim())
  const address = match?.[2] ?? match?.[3]
  if (address === undefined || !ADDRESS.test(address)) return null
  return { name: (match?.[1] ?? '').trim() || 'Prepaint', address }
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (net.isIPv4(host) && host.startsWith('127.'))
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
