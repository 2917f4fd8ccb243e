/**
 * What is wrong with a domain name, as far as one can say while it is being
 * typed; the server has the last word. Null: nothing.
 */
export function domainProblem(raw: string): string | null {
  const name = raw.trim()
  if (name === '') return 'Enter the name that visitors use, such as www.example.com'
  if (/^[a-z]+:\/\//i.test(name)) return 'Only the name, without https:// before it'
  if (/[/?#\s@:]/.test(name)) return 'Only the name, without path, port or spaces'
  const ascii = asciiName(name)
  if (ascii === null) return 'This is not a domain name'
  if (/^[\d.]+$/.test(ascii)) return 'A name, not an IP address'
  if (!ascii.includes('.')) return 'The whole name, such as www.example.com'
  return null
}

/** Lower case, IDN in punycode, as it is stored; null: not a name. */
export function asciiName(name: string): string | null {
  return URL.canParse(`https://${name.trim()}`)
    ? new URL(`https://${name.trim()}`).hostname.replace(/\.$/, '')
    : null
}

/** What is wrong with the address of an origin, as far as one can say here. Null: nothing. */
export function originProblem(raw: string, domain: string): string | null {
  const text = raw.trim()
  if (text === '') return 'Enter where the site itself runs, such as https://shop.hosting.example'
  if (!/^https?:\/\//i.test(text)) return 'Begin with https:// or http://'
  if (!URL.canParse(text)) return 'This is not an address'
  const { hostname, pathname, search, hash, username } = new URL(text)
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '') {
    return 'Only scheme, host and port, without path'
  }
  if (hostname === asciiName(domain)) {
    return 'This is the domain itself: once its DNS leads here, the origin must have another name'
  }
  return null
}
