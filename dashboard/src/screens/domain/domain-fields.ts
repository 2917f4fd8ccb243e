import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { isRefusal } from '../../api/api-error.ts'
import { request } from '../../api/request.ts'
import type { DomainCheck } from '../../api/types.ts'

/** A first check while typing; the server decides. Returns null if the name looks valid. */
export function domainProblem(raw: string): string | null {
  const name = raw.trim()
  if (name === '') return 'Enter the name that visitors use, such as www.example.com'
  if (/^[a-z]+:\/\//i.test(name)) return 'Enter only the name, without https://'
  if (/[/?#\s@:]/.test(name)) return 'Enter only the name, without path, port or spaces'
  const ascii = asciiName(name)
  if (ascii === null) return 'This is not a domain name'
  if (/^[\d.]+$/.test(ascii)) return 'Enter a name, not an IP address'
  if (!ascii.includes('.')) return 'Enter the full name, such as www.example.com'
  return null
}

/** Takes the name out of an address that was pasted in any form: `https://www.X.com/shop` is `www.x.com`. */
export function pastedName(raw: string): string {
  const text = raw.trim()
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `https://${text}`)
  const isName = url !== null && text !== '' && !/[\s@]/.test(text)
  return isName ? url.hostname.replace(/\.$/, '') : text
}

/** What an address has after its name, and `pastedName` leaves out: `/de` of `https://www.x.com/de`. Null: nothing. */
export function pastedPath(raw: string): string | null {
  const text = raw.trim()
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `https://${text}`)
  if (url === null || /[\s@]/.test(text)) return null
  const rest = `${url.pathname}${url.search}${url.hash}`
  return rest === '/' ? null : rest
}

/** Returns the name in lower case and punycode, as the server stores it, or null if it is not a name. */
export function asciiName(name: string): string | null {
  const url = URL.parse(`https://${name.trim()}`)
  return url === null ? null : url.hostname.replace(/\.$/, '')
}

/** Returns null if the URL looks like the server of a site. */

export function originProblem(raw: string, domain: string): string | null {
  const text = raw.trim()
  if (text === '') return 'Enter the URL of the server of your site, such as https://shop.hosting.example'
  if (!/^https?:\/\//i.test(text)) return 'Begin with https:// or http://'
  if (!URL.canParse(text)) return 'This is not a URL'
  const { hostname, pathname, search, hash, username } = new URL(text)
  if (pathname !== '/' || search !== '' || hash !== '' || username !== '') {
    return 'Enter only scheme, host and port, without a path'
  }
  if (hostname === asciiName(domain)) {
    return 'This is the domain itself. The origin needs another name, because the DNS of the domain will point here'
  }
  return null
}

type Field = 'custom_domain' | 'origin_url'

type FieldCheck = { isGood: boolean; text: string }

const TYPING_MS = 500

/** The server's check of a field, half a second after the last key. */
export function useDomainCheck(field: Field, typed: string, isComplete: boolean) {
  const [value] = useDebouncedValue(typed.trim(), TYPING_MS)
  const isChecked = isComplete && value !== '' && value === typed.trim()
  const check = useQuery({
    queryKey: ['domain-check', field, value],
    queryFn: ({ signal }) =>
      request<DomainCheck>('POST', '/api/domains/check', { body: { [field]: value }, signal }),
    enabled: isChecked,
    staleTime: 10_000,
    retry: false,
    refetchInterval: false,
  })
  return {
    isChecking: isComplete && typed.trim() !== '' && (!isChecked || check.isFetching),
    finding: isChecked ? findingOf(field, check.data, check.error) : null,
  }
}

/** Returns null while the field was not checked. A check that failed says nothing, except that there were too many. */
function findingOf(field: Field, check: DomainCheck | undefined, error: unknown): FieldCheck | null {
  if (check !== undefined) return field === 'custom_domain' ? nameCheck(check) : originCheck(check)
  if (isRefusal(error, 'too_many_checks')) return { isGood: true, text: error.message }
  return null
}

function nameCheck({ custom_domain: found }: DomainCheck): FieldCheck | null {
  if (found === null) return null
  if (found.problem !== null) return { isGood: false, text: `The name ${found.problem}` }
  return found.name === null ? null : { isGood: true, text: `${found.name} is available` }
}

/** Says what the server of the site answered. A site can be added before its server works. */
export function originCheck({ origin_url: found }: DomainCheck): FieldCheck | null {
  if (found === null) return null
  const { problem, warning, status } = found
  if (problem !== null) return { isGood: false, text: `The URL ${problem}` }
  if (warning !== null) return { isGood: false, text: `The server ${warning}. You can add the site anyway.` }
  if (status === null || status < 400)
    return { isGood: true, text: `The server responds with status ${status}.` }
  return { isGood: false, text: `The server responds with status ${status}. You can add the site anyway.` }
}
